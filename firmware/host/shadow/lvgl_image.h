#pragma once

#include <lvgl.h>

#include <cstdlib>
#include <memory>

class LvglImage {
public:
    virtual const lv_img_dsc_t* image_dsc() const = 0;
    virtual bool IsGif() const { return false; }
    virtual ~LvglImage() = default;
};

// Pictures in flash: they belong to somebody else.
class LvglRawImage : public LvglImage {
public:
    LvglRawImage(void* data, size_t size) {
        image_.data = static_cast<const uint8_t*>(data);
        image_.data_size = static_cast<uint32_t>(size);
    }
    const lv_img_dsc_t* image_dsc() const override { return &image_; }

private:
    lv_img_dsc_t image_{};
};

class LvglSourceImage : public LvglImage {
public:
    LvglSourceImage(const lv_img_dsc_t* image) : image_(image) {}
    const lv_img_dsc_t* image_dsc() const override { return image_; }

private:
    const lv_img_dsc_t* image_;
};

class LvglAllocatedImage : public LvglImage {
public:
    LvglAllocatedImage(void* data, size_t size);
    LvglAllocatedImage(void* data, size_t size, int width, int height, int stride, int format);
    ~LvglAllocatedImage() override;
    const lv_img_dsc_t* image_dsc() const override { return &image_; }

private:
    lv_img_dsc_t image_{};
};
