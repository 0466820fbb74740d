#pragma once

#include "lvgl_display.h"
#include "lvgl_theme.h"
#include "settings.h"

/// A colour display. Its theme is kept in the settings by the firmware's own Display.
class HostScreen : public LvglDisplay {
public:
    HostScreen() {
        width_ = 320;
        height_ = 240;
        Settings settings("display", false);
        const auto name = settings.GetString("theme", "light");
        auto* theme = LvglThemeManager::GetInstance().GetTheme(name);
        current_theme_ = theme != nullptr ? theme : LvglThemeManager::GetInstance().GetTheme("light");
    }

    void SetStatus(const char*) override {}
    void ShowNotification(const char*, int = 3000) override {}
    void ShowNotification(const std::string&, int = 3000) override {}
    void SetEmotion(const char*) override {}
    void SetChatMessage(const char*, const char*) override {}

protected:
    bool Lock(int = 0) override { return true; }
    void Unlock() override {}
};
