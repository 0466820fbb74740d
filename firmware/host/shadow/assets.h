// Takes the place of main/assets.h, whose class reads fonts and pictures from a flash partition.
// This one says that there is no such partition, as on boards without one.
// The guard is the genuine header's, so that it is skipped where it would be found first.
#ifndef ASSETS_H
#define ASSETS_H

#include <cJSON.h>
#include <esp_partition.h>
#include <model_path.h>

#include <functional>
#include <memory>
#include <string>

struct TextFontCapability {
    bool glyph_push = false;
    std::string bundle;
    std::string charset;
    int size = 0;
    int bpp = 0;
};

class Assets {
public:
    static Assets& GetInstance() {
        static Assets instance;
        return instance;
    }

    bool Download(std::string, std::function<void(int progress, size_t speed)>) { return false; }
    bool Apply(bool = true) { return false; }
    bool GetAssetData(const std::string&, void*&, size_t&) { return false; }
    bool partition_valid() const { return false; }
    bool checksum_valid() const { return false; }
    std::string default_assets_url() const { return {}; }
    TextFontCapability text_font_capability() const { return {}; }
};

#endif
