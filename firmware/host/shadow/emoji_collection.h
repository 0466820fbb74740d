#pragma once

#include <lvgl.h>

#include <memory>
#include <string>

#include "lvgl_image.h"

class EmojiCollection {
public:
    virtual ~EmojiCollection() = default;
    virtual void AddEmoji(const std::string&, LvglImage*) {}
    virtual const LvglImage* GetEmojiImage(const char*) { return nullptr; }
};
typedef EmojiCollection Twemoji32;
typedef EmojiCollection Twemoji64;
