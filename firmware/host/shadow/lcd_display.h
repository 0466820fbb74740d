// Takes the place of main/display/lcd_display.h. The theme is kept in the settings by the firmware's
// own Display.
#pragma once

#include <esp_lcd_panel_io.h>
#include <esp_lcd_panel_ops.h>

#include <atomic>
#include <memory>

#include "lvgl_display.h"
#include "lvgl_theme.h"

#define PREVIEW_IMAGE_DURATION_MS 5000

class LvglGif {};

class LcdDisplay : public LvglDisplay {
public:
    virtual void SetEmotion(const char*) override {}
    virtual void SetChatMessage(const char*, const char*) override {}
    virtual void SetPreviewImage(std::unique_ptr<LvglImage> image) override;
    virtual void SetTheme(Theme* theme) override { LvglDisplay::SetTheme(theme); }
#if KIT_SETUP_UI
    virtual void SetupUI() override { LvglDisplay::SetupUI(); }
#else
    virtual void SetupUI() {}
#endif
    void SetHideSubtitle(bool hide) { hide_subtitle_ = hide; }

protected:
    LcdDisplay(esp_lcd_panel_io_handle_t io, esp_lcd_panel_handle_t panel, int width, int height);
    void InitializeLcdThemes() {}

    esp_lcd_panel_io_handle_t panel_io_ = nullptr;
    esp_lcd_panel_handle_t panel_ = nullptr;
    lv_draw_buf_t draw_buf_{};
    lv_obj_t* top_bar_ = nullptr;
    lv_obj_t* status_bar_ = nullptr;
    lv_obj_t* content_ = nullptr;
    lv_obj_t* container_ = nullptr;
    lv_obj_t* side_bar_ = nullptr;
    lv_obj_t* bottom_bar_ = nullptr;
    lv_obj_t* preview_image_ = nullptr;
    lv_obj_t* emoji_label_ = nullptr;
    lv_obj_t* emoji_image_ = nullptr;
    std::unique_ptr<LvglGif> gif_controller_;
    lv_obj_t* emoji_box_ = nullptr;
    lv_obj_t* chat_message_label_ = nullptr;
    esp_timer_handle_t preview_timer_ = nullptr;
    std::unique_ptr<LvglImage> preview_image_cached_;
    bool hide_subtitle_ = false;
};

// How the panel is connected does not matter here, nor what comes after the size: offsets, mirrors
// and, in earlier versions, fonts.
#define KIT_LCD_DISPLAY(name)                                                                     \
    class name : public LcdDisplay {                                                              \
    public:                                                                                       \
        template <class... More>                                                                  \
        name(esp_lcd_panel_io_handle_t io, esp_lcd_panel_handle_t panel, int width, int height,   \
             More&&...)                                                                           \
            : LcdDisplay(io, panel, width, height) {}                                             \
    };
KIT_LCD_DISPLAY(SpiLcdDisplay)
KIT_LCD_DISPLAY(QspiLcdDisplay)
KIT_LCD_DISPLAY(RgbLcdDisplay)
KIT_LCD_DISPLAY(MipiLcdDisplay)
KIT_LCD_DISPLAY(Mcu8080LcdDisplay)
