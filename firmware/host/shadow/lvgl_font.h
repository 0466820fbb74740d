#pragma once

#include <lvgl.h>

class LvglFont {
public:
    virtual const lv_font_t* font() const = 0;
    virtual void SetFallback(const lv_font_t*) {}
    virtual ~LvglFont() = default;
};

class LvglBuiltInFont : public LvglFont {
public:
    // A font that no component brings is null; what is measured with it must not fail.
    LvglBuiltInFont(const lv_font_t* font) : font_(font) {}
    const lv_font_t* font() const override {
        static const lv_font_t none{.line_height = 20};
        return font_ != nullptr ? font_ : &none;
    }

private:
    const lv_font_t* font_;
};

class LvglCBinFont : public LvglBuiltInFont {
public:
    LvglCBinFont(void*) : LvglBuiltInFont(nullptr) {}
};
