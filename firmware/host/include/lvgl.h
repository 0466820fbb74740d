// LVGL draws nothing here. These are the types that the firmware's headers name; for C++ there are
// the functions that boards call, too.
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LV_VERSION_CHECK(major, minor, patch) \
    ((9 > (major)) || (9 == (major) && (3 > (minor) || (3 == (minor) && 0 >= (patch)))))
#define LVGL_VERSION_MAJOR 9
#define LVGL_VERSION_MINOR 3
#define LVGL_VERSION_PATCH 0
#define LV_ATTRIBUTE_LARGE_CONST
#define LV_ATTRIBUTE_MEM_ALIGN

typedef struct {
    uint8_t blue, green, red;
} lv_color_t;
typedef struct kit_lv_obj lv_obj_t;
typedef struct kit_lv_display lv_display_t;
typedef lv_display_t lv_disp_t;
typedef struct kit_lv_indev lv_indev_t;
typedef struct kit_lv_timer lv_timer_t;
typedef struct kit_lv_event lv_event_t;
typedef struct kit_lv_anim lv_anim_t;
typedef struct kit_lv_style lv_style_t;
typedef int32_t lv_coord_t;
typedef uint8_t lv_opa_t;

typedef struct {
    uint32_t magic : 8;
    uint32_t cf : 8;
    uint32_t flags : 16;
    uint32_t w : 16;
    uint32_t h : 16;
    uint32_t stride : 16;
    uint32_t reserved_2 : 16;
} lv_image_header_t;
typedef struct {
    lv_image_header_t header;
    uint32_t data_size;
    const uint8_t *data;
    const void *reserved;
    const void *reserved_2;
} lv_image_dsc_t;
typedef lv_image_dsc_t lv_img_dsc_t;
typedef struct {
    lv_image_header_t header;
    uint32_t data_size;
    uint8_t *data;
} lv_draw_buf_t;
typedef struct kit_lv_font lv_font_t;
struct kit_lv_font {
    int32_t line_height;
    int32_t base_line;
    const void *dsc;
    const lv_font_t *fallback;
    void *user_data;
};
typedef struct {
    int32_t x1, y1, x2, y2;
} lv_area_t;
typedef struct {
    int32_t x, y;
} lv_point_t;
typedef enum { LV_INDEV_STATE_RELEASED, LV_INDEV_STATE_PRESSED } lv_indev_state_t;
typedef struct {
    lv_point_t point;
    lv_indev_state_t state;
    uint32_t key;
    bool continue_reading;
} lv_indev_data_t;

// Fonts and pictures come from components, or from files of the board.
#define LV_FONT_DECLARE(name) extern const lv_font_t name __attribute__((weak));
#define LV_IMAGE_DECLARE(name) extern const lv_image_dsc_t name __attribute__((weak));
#define LV_IMG_DECLARE(name) LV_IMAGE_DECLARE(name)

enum {
    LV_COLOR_FORMAT_UNKNOWN,
    LV_COLOR_FORMAT_RAW = 1,
    LV_COLOR_FORMAT_RAW_ALPHA = 2,
    LV_COLOR_FORMAT_L8 = 6,
    LV_COLOR_FORMAT_I1 = 7,
    LV_COLOR_FORMAT_RGB888 = 15,
    LV_COLOR_FORMAT_ARGB8888 = 16,
    LV_COLOR_FORMAT_XRGB8888 = 17,
    LV_COLOR_FORMAT_RGB565 = 18,
    LV_COLOR_FORMAT_RGB565A8 = 20,
    LV_IMAGE_HEADER_MAGIC = 0x19,
    LV_IMAGE_FLAGS_MODIFIABLE = 0x10,
    LV_IMAGE_FLAGS_ALLOCATED = 0x20
};
typedef int lv_color_format_t;
#define LV_COLOR_FORMAT_GET_SIZE(format) \
    ((format) == LV_COLOR_FORMAT_RGB565 ? 2 : (format) == LV_COLOR_FORMAT_RGB888 ? 3 : (format) >= 16 ? 4 : 1)

#ifdef __cplusplus
#include "kit_lvgl.h"
#endif
