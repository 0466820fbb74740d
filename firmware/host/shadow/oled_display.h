// Takes the place of main/display/oled_display.h.
#pragma once

#include <esp_lcd_panel_io.h>
#include <esp_lcd_panel_ops.h>

#include "lvgl_display.h"
#include "lvgl_theme.h"

class OledDisplay : public LvglDisplay {
public:
    template <class... More>
    OledDisplay(esp_lcd_panel_io_handle_t, esp_lcd_panel_handle_t, int width, int height, More&&...) {
        Resize(width, height);
        current_theme_ = LvglThemeManager::GetInstance().GetTheme("dark");
    }

    virtual void SetEmotion(const char*) override {}
    virtual void SetChatMessage(const char*, const char*) override {}
};
