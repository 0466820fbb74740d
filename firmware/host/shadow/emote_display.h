// Takes the place of main/display/emote_display.h: pictures that move, and are not shown.
#pragma once

#include <esp_lcd_panel_io.h>
#include <esp_lcd_panel_ops.h>

#include <string>

#include "display.h"

typedef void* emote_handle_t;

namespace emote {

class EmoteDisplay : public Display {
public:
    template <class... More>
    EmoteDisplay(esp_lcd_panel_handle_t, esp_lcd_panel_io_handle_t, int width, int height, More&&...) {
        width_ = width;
        height_ = height;
    }

    virtual void SetEmotion(const char*) override {}
    virtual void SetStatus(const char*) override {}
    virtual void SetChatMessage(const char*, const char*) override {}
    virtual void SetTheme(Theme*) override {}
    virtual void ShowNotification(const char*, int = 3000) override {}
    virtual void UpdateStatusBar(bool = false) override {}
    virtual void SetPowerSaveMode(bool) override {}
    virtual void SetPreviewImage(const void*) {}
    bool StopAnimDialog() { return true; }
    bool InsertAnimDialog(const char*, uint32_t) { return true; }
    void RefreshAll() {}
    emote_handle_t GetEmoteHandle() const { return nullptr; }

private:
    virtual bool Lock(int = 0) override { return true; }
    virtual void Unlock() override {}
};

}  // namespace emote
