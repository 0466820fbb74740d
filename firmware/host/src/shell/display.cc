// A display that shows nothing, knows its theme, and can be photographed.
#include <esp_heap_caps.h>

#include "jpeg.h"
#include "lvgl_display.h"
#include "lvgl_theme.h"

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
