// A display that shows nothing, knows its theme, and can be photographed.
#include <esp_heap_caps.h>

#include <atomic>
#include <mutex>

#include "jpeg.h"
#include "lcd_display.h"
#include "lvgl_display.h"
#include "lvgl_theme.h"
#include "settings.h"

namespace {

std::atomic<int> newest_width{320};
std::atomic<int> newest_height{240};

// As the port of LVGL has it: a task may take it again.
std::recursive_timed_mutex& lock() {
    static std::recursive_timed_mutex mutex;
    return mutex;
}

}  // namespace

int kit::lvgl_width() { return newest_width; }
int kit::lvgl_height() { return newest_height; }

extern "C" bool lvgl_port_lock(uint32_t timeout_ms) {
    if (timeout_ms == 0) {
        lock().lock();
        return true;
    }
    return lock().try_lock_for(std::chrono::milliseconds(timeout_ms));
}

extern "C" void lvgl_port_unlock(void) { lock().unlock(); }

LvglThemeManager::LvglThemeManager() {
    for (const char* name : {"light", "dark"}) {
        RegisterTheme(name, new LvglTheme(name));
    }
}

LvglThemeManager& LvglThemeManager::GetInstance() {
    static LvglThemeManager manager;
    return manager;
}

LvglTheme* LvglThemeManager::GetTheme(const std::string& name) {
    const auto found = themes_.find(name);
    return found == themes_.end() ? nullptr : found->second;
}

void LvglDisplay::SetPreviewImage(std::unique_ptr<LvglImage>) {}

void LvglDisplay::Resize(int width, int height) {
    width_ = width;
    height_ = height;
    newest_width = width;
    newest_height = height;
}

bool LvglDisplay::Lock(int timeout_ms) { return lvgl_port_lock(static_cast<uint32_t>(timeout_ms)); }
void LvglDisplay::Unlock() { lvgl_port_unlock(); }

LcdDisplay::LcdDisplay(esp_lcd_panel_io_handle_t io, esp_lcd_panel_handle_t panel, int width, int height)
    : panel_io_(io), panel_(panel) {
    Resize(width, height);
    Settings settings("display", false);
    auto& themes = LvglThemeManager::GetInstance();
    auto* theme = themes.GetTheme(settings.GetString("theme", "light"));
    current_theme_ = theme != nullptr ? theme : themes.GetTheme("light");
}

void LcdDisplay::SetPreviewImage(std::unique_ptr<LvglImage>) {}

bool LvglDisplay::SnapshotToJpeg(std::string& jpeg, int) {
    jpeg = kit::grey_jpeg(width_, height_);
    return true;
}

LvglAllocatedImage::LvglAllocatedImage(void* data, size_t size) {
    image_.data = static_cast<const uint8_t*>(data);
    image_.data_size = static_cast<uint32_t>(size);
}

LvglAllocatedImage::LvglAllocatedImage(void* data, size_t size, int, int, int, int)
    : LvglAllocatedImage(data, size) {}

LvglAllocatedImage::~LvglAllocatedImage() { heap_caps_free(const_cast<uint8_t*>(image_.data)); }
