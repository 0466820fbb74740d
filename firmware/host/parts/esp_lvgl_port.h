// espressif/esp_lvgl_port: the lock is a lock, and nothing is drawn.
#pragma once

#include "esp_lcd_panel_io.h"
#include "esp_lcd_panel_ops.h"
#include "esp_lcd_touch.h"
#include "lvgl.h"

typedef struct {
    int task_priority;
    int task_stack;
    int task_affinity;
    int task_max_sleep_ms;
    unsigned int task_stack_caps;
    int timer_period_ms;
} lvgl_port_cfg_t;
#define ESP_LVGL_PORT_INIT_CONFIG() \
    { .task_priority = 4, .task_stack = 7168, .task_affinity = -1, .task_max_sleep_ms = 500, .timer_period_ms = 5 }

typedef struct {
    bool swap_xy;
    bool mirror_x;
    bool mirror_y;
} lvgl_port_rotation_cfg_t;
typedef struct lvgl_port_display_cfg_t {
    esp_lcd_panel_io_handle_t io_handle;
    esp_lcd_panel_handle_t panel_handle;
    esp_lcd_panel_handle_t control_handle;
    uint32_t buffer_size;
    bool double_buffer;
    uint32_t trans_size;
    uint32_t hres;
    uint32_t vres;
    bool monochrome;
    lvgl_port_rotation_cfg_t rotation;
    lv_color_format_t color_format;
    struct {
        unsigned int buff_dma : 1;
        unsigned int buff_spiram : 1;
        unsigned int sw_rotate : 1;
        unsigned int swap_bytes : 1;
        unsigned int full_refresh : 1;
        unsigned int direct_mode : 1;
    } flags;
} lvgl_port_display_cfg_t;
typedef struct {
    struct {
        unsigned int bb_mode : 1;
        unsigned int avoid_tearing : 1;
    } flags;
} lvgl_port_display_rgb_cfg_t;
typedef struct {
    struct {
        unsigned int avoid_tearing : 1;
    } flags;
} lvgl_port_display_dsi_cfg_t;
typedef struct {
    lv_display_t *disp;
    esp_lcd_touch_handle_t handle;
    struct {
        float x;
        float y;
    } scale;
} lvgl_port_touch_cfg_t;

#ifdef __cplusplus
extern "C" {
#endif
bool lvgl_port_lock(uint32_t timeout_ms);
void lvgl_port_unlock(void);
#ifdef __cplusplus
}
#endif

static inline esp_err_t lvgl_port_init(const lvgl_port_cfg_t *config) { return (void)config, ESP_OK; }
static inline esp_err_t lvgl_port_deinit(void) { return ESP_OK; }
static inline esp_err_t lvgl_port_stop(void) { return ESP_OK; }
static inline esp_err_t lvgl_port_resume(void) { return ESP_OK; }
static inline lv_display_t *lvgl_port_add_disp(const lvgl_port_display_cfg_t *config) {
    return (void)config, (lv_display_t *)kit_handle();
}
static inline lv_display_t *lvgl_port_add_disp_rgb(const lvgl_port_display_cfg_t *config,
                                                   const lvgl_port_display_rgb_cfg_t *rgb) {
    return (void)config, (void)rgb, (lv_display_t *)kit_handle();
}
static inline lv_display_t *lvgl_port_add_disp_dsi(const lvgl_port_display_cfg_t *config,
                                                   const lvgl_port_display_dsi_cfg_t *dsi) {
    return (void)config, (void)dsi, (lv_display_t *)kit_handle();
}
static inline esp_err_t lvgl_port_remove_disp(lv_display_t *display) { return (void)display, ESP_OK; }
static inline lv_indev_t *lvgl_port_add_touch(const lvgl_port_touch_cfg_t *config) {
    return (void)config, (lv_indev_t *)kit_handle();
}
static inline esp_err_t lvgl_port_remove_touch(lv_indev_t *touch) { return (void)touch, ESP_OK; }
static inline void lvgl_port_flush_ready(lv_display_t *display) { (void)display; }
