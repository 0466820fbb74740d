// Takes the place of main/display/lvgl_display/lvgl_display.h: a display that shows nothing.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <lvgl.h>

#include "display.h"
#include "lvgl_image.h"

class LvglDisplay : public Display {
public:
    virtual void SetStatus(const char*) override {}
    virtual void ShowNotification(const char*, int = 3000) override {}
    virtual void ShowNotification(const std::string&, int = 3000) override {}
    virtual void SetEmotion(const char*) override {}
    virtual void SetChatMessage(const char*, const char*) override {}
    virtual void SetPreviewImage(std::unique_ptr<LvglImage> image);
    virtual void UpdateStatusBar(bool = false) override {}
    virtual void SetPowerSaveMode(bool) override {}
    virtual bool SnapshotToJpeg(std::string& jpeg, int quality = 80);

protected:
    // The names that displays of boards use.
    lv_display_t* display_ = nullptr;
    lv_obj_t* network_label_ = nullptr;
    lv_obj_t* status_label_ = nullptr;
    lv_obj_t* notification_label_ = nullptr;
    lv_obj_t* mute_label_ = nullptr;
    lv_obj_t* battery_label_ = nullptr;
    lv_obj_t* low_battery_popup_ = nullptr;
    lv_obj_t* low_battery_label_ = nullptr;
    const char* battery_icon_ = nullptr;
    const char* network_icon_ = nullptr;
    bool muted_ = false;
    std::chrono::system_clock::time_point last_status_update_time_;
    esp_timer_handle_t notification_timer_ = nullptr;

    // The size is what LVGL tells from now on.
    void Resize(int width, int height);
    bool Lock(int timeout_ms = 0) override;
    void Unlock() override;
};
