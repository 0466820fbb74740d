#pragma once

#include <lvgl.h>

#include <memory>
#include <string>

#include "lvgl_image.h"

class EmojiCollection {
public:
    virtual ~EmojiCollection() = default;
    virtual const LvglImage* GetEmojiImage(const char*) { return nullptr; }
};
