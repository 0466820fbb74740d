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

class LvglAllocatedImage : public LvglImage {
public:
    LvglAllocatedImage(void* data, size_t size);
    LvglAllocatedImage(void* data, size_t size, int width, int height, int stride, int format);
    ~LvglAllocatedImage() override;
    const lv_img_dsc_t* image_dsc() const override { return &image_; }

private:
    lv_img_dsc_t image_{};
};
