// Takes the place of main/boards/common/esp32_camera.h: the camera is the kit's.
#pragma once

#include <esp_camera.h>
#include <lvgl.h>

#include "kit_camera.h"

class Esp32Camera : public KitCamera {
public:
    template <class... Arguments>
    Esp32Camera(Arguments&&...) {}
};
