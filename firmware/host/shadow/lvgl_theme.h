#pragma once

#include <lvgl.h>

#include <map>
#include <memory>
#include <string>

#include "display.h"
#include "emoji_collection.h"
#include "lvgl_font.h"

// A property of a theme: its reader and its setter.
#define KIT_THEME(type, name)                     \
    type name() const { return name##_; }         \
    void set_##name(type value) { name##_ = value; } \
    type name##_{};

class LvglTheme : public Theme {
public:
    using Theme::Theme;

    static lv_color_t ParseColor(const std::string&) { return {}; }
    int spacing(int scale) const { return 2 * scale; }

    KIT_THEME(lv_color_t, background_color)
    KIT_THEME(lv_color_t, text_color)
    KIT_THEME(lv_color_t, chat_background_color)
    KIT_THEME(lv_color_t, user_bubble_color)
    KIT_THEME(lv_color_t, assistant_bubble_color)
    KIT_THEME(lv_color_t, system_bubble_color)
    KIT_THEME(lv_color_t, system_text_color)
    KIT_THEME(lv_color_t, border_color)
    KIT_THEME(lv_color_t, low_battery_color)
    KIT_THEME(std::shared_ptr<LvglImage>, background_image)
    KIT_THEME(std::shared_ptr<EmojiCollection>, emoji_collection)

#define KIT_FONT(name)                                                                  \
    std::shared_ptr<LvglFont> name() const { return name##_; }                          \
    void set_##name(std::shared_ptr<LvglFont> font) { name##_ = std::move(font); }      \
    std::shared_ptr<LvglFont> name##_ = std::make_shared<LvglBuiltInFont>(nullptr);
    KIT_FONT(text_font)
    KIT_FONT(icon_font)
    KIT_FONT(large_icon_font)
    KIT_FONT(emoji_font)
#undef KIT_FONT
};
#undef KIT_THEME

// Knows `light` and `dark`, as on boards with a colour display.
class LvglThemeManager {
public:
    static LvglThemeManager& GetInstance();
    void RegisterTheme(const std::string& name, LvglTheme* theme) { themes_[name] = theme; }
    LvglTheme* GetTheme(const std::string& name);

private:
    LvglThemeManager();
    std::map<std::string, LvglTheme*> themes_;
};
