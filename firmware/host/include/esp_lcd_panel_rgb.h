#pragma once

#include "kit_panel.h"

typedef struct {
    uint32_t pclk_hz;
    uint32_t h_res;
    uint32_t v_res;
    uint32_t hsync_pulse_width;
    uint32_t hsync_back_porch;
    uint32_t hsync_front_porch;
    uint32_t vsync_pulse_width;
    uint32_t vsync_back_porch;
    uint32_t vsync_front_porch;
    struct {
        uint32_t hsync_idle_low : 1;
        uint32_t vsync_idle_low : 1;
        uint32_t de_idle_high : 1;
        uint32_t pclk_active_neg : 1;
        uint32_t pclk_idle_high : 1;
    } flags;
} esp_lcd_rgb_timing_t;

typedef struct {
    lcd_clock_source_t clk_src;
    esp_lcd_rgb_timing_t timings;
    size_t data_width;
#if KIT_IDF_5
    size_t bits_per_pixel;
#endif
    lcd_color_format_t in_color_format;
    lcd_color_format_t out_color_format;
    size_t num_fbs;
    size_t bounce_buffer_size_px;
#if KIT_IDF_5
    size_t sram_trans_align;
    size_t psram_trans_align;
#endif
    size_t dma_burst_size;
    gpio_num_t hsync_gpio_num;
    gpio_num_t vsync_gpio_num;
    gpio_num_t de_gpio_num;
    gpio_num_t pclk_gpio_num;
    gpio_num_t disp_gpio_num;
    gpio_num_t data_gpio_nums[24];
    struct {
        uint32_t disp_active_low : 1;
        uint32_t refresh_on_demand : 1;
        uint32_t fb_in_psram : 1;
        uint32_t double_fb : 1;
        uint32_t no_fb : 1;
        uint32_t bb_invalidate_cache : 1;
    } flags;
} esp_lcd_rgb_panel_config_t;

static inline esp_err_t esp_lcd_new_rgb_panel(const esp_lcd_rgb_panel_config_t *config,
                                              esp_lcd_panel_handle_t *out) {
    return (void)config, kit_new_panel(out);
}
