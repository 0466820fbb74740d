// Takes the place of main/boards/common/esp_video.h: the camera is the kit's.
#pragma once

#include <esp_video_init.h>
#include <lvgl.h>

#include "kit_camera.h"

class EspVideo : public KitCamera {
public:
    template <class... Arguments>
    EspVideo(Arguments&&...) {}
};
