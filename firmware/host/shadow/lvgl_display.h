// Takes the place of main/display/lvgl_display/lvgl_display.h: a display that shows nothing.
#pragma once

#include <memory>
#include <string>

#include "display.h"
#include "lvgl_image.h"

class LvglDisplay : public Display {
public:
    virtual void SetPreviewImage(std::unique_ptr<LvglImage> image);
    virtual bool SnapshotToJpeg(std::string& jpeg, int quality = 80);
};
