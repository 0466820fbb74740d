// LVGL draws nothing here. These types are what the application's headers name.
#pragma once

#include <stdint.h>

typedef struct {
    uint8_t blue, green, red;
} lv_color_t;
typedef struct kit_lv_obj lv_obj_t;
typedef struct kit_lv_display lv_display_t;
typedef struct kit_lv_font lv_font_t;
typedef struct {
    const uint8_t *data;
    uint32_t data_size;
} lv_image_dsc_t;
typedef lv_image_dsc_t lv_img_dsc_t;
