// espressif/led_strip: lamps in a row. They take every colour.
#pragma once

#include <stdbool.h>

#include "kit_handle.h"

typedef struct kit_led_strip *led_strip_handle_t;
typedef enum { LED_MODEL_WS2812, LED_MODEL_SK6812, LED_MODEL_WS2811 } led_model_t;
typedef enum { LED_PIXEL_FORMAT_GRB, LED_PIXEL_FORMAT_GRBW } led_pixel_format_t;
typedef union {
    struct {
        uint32_t r_pos : 2;
        uint32_t g_pos : 2;
        uint32_t b_pos : 2;
        uint32_t w_pos : 2;
        uint32_t reserved : 21;
        uint32_t bytes_per_color : 2;
        uint32_t num_components : 3;
    } format;
    uint32_t format_id;
} led_color_component_format_t;
#ifdef __cplusplus
#define KIT_LED_FORMAT(components) led_color_component_format_t{.format_id = (components)}
#else
#define KIT_LED_FORMAT(components) (led_color_component_format_t){.format_id = (components)}
#endif
#define LED_STRIP_COLOR_COMPONENT_FMT_GRB KIT_LED_FORMAT(3)
#define LED_STRIP_COLOR_COMPONENT_FMT_RGB KIT_LED_FORMAT(3)
#define LED_STRIP_COLOR_COMPONENT_FMT_GRBW KIT_LED_FORMAT(4)

typedef struct {
    int strip_gpio_num;
    uint32_t max_leds;
    led_pixel_format_t led_pixel_format;
    led_model_t led_model;
    led_color_component_format_t color_component_format;
    struct {
        uint32_t invert_out : 1;
    } flags;
} led_strip_config_t;
typedef struct {
    int clk_src;
    uint32_t resolution_hz;
    size_t mem_block_symbols;
    struct {
        uint32_t with_dma : 1;
    } flags;
} led_strip_rmt_config_t;
typedef struct {
    int clk_src;
    int spi_bus;
    struct {
        uint32_t with_dma : 1;
    } flags;
} led_strip_spi_config_t;

static inline esp_err_t led_strip_new_rmt_device(const led_strip_config_t *config,
                                                 const led_strip_rmt_config_t *rmt, led_strip_handle_t *out) {
    return (void)config, (void)rmt, KIT_NEW(out);
}
static inline esp_err_t led_strip_new_spi_device(const led_strip_config_t *config,
                                                 const led_strip_spi_config_t *spi, led_strip_handle_t *out) {
    return (void)config, (void)spi, KIT_NEW(out);
}
static inline esp_err_t led_strip_set_pixel(led_strip_handle_t strip, uint32_t index, uint32_t red,
                                            uint32_t green, uint32_t blue) {
    return (void)strip, (void)index, (void)red, (void)green, (void)blue, ESP_OK;
}
static inline esp_err_t led_strip_refresh(led_strip_handle_t strip) { return (void)strip, ESP_OK; }
static inline esp_err_t led_strip_clear(led_strip_handle_t strip) { return (void)strip, ESP_OK; }
static inline esp_err_t led_strip_del(led_strip_handle_t strip) { return (void)strip, ESP_OK; }
