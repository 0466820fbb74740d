// espressif/esp_lcd_touch: nobody touches the display.
#pragma once

#include "esp_lcd_panel_io.h"

typedef struct esp_lcd_touch_s esp_lcd_touch_t;
typedef esp_lcd_touch_t *esp_lcd_touch_handle_t;
typedef void (*esp_lcd_touch_interrupt_callback_t)(esp_lcd_touch_handle_t touch);

typedef struct {
    uint16_t x_max;
    uint16_t y_max;
    gpio_num_t rst_gpio_num;
    gpio_num_t int_gpio_num;
    struct {
        unsigned int reset : 1;
        unsigned int interrupt : 1;
    } levels;
    struct {
        unsigned int swap_xy : 1;
        unsigned int mirror_x : 1;
        unsigned int mirror_y : 1;
    } flags;
    void (*process_coordinates)(esp_lcd_touch_handle_t touch, uint16_t *x, uint16_t *y, uint16_t *strength,
                                uint8_t *points, uint8_t most);
    esp_lcd_touch_interrupt_callback_t interrupt_callback;
    void *user_data;
    void *driver_data;
} esp_lcd_touch_config_t;

static inline esp_err_t esp_lcd_touch_read_data(esp_lcd_touch_handle_t touch) { return (void)touch, ESP_OK; }
static inline bool esp_lcd_touch_get_coordinates(esp_lcd_touch_handle_t touch, uint16_t *x, uint16_t *y,
                                                 uint16_t *strength, uint8_t *points, uint8_t most) {
    *points = 0;
    return (void)touch, (void)x, (void)y, (void)strength, (void)most, false;
}
static inline esp_err_t esp_lcd_touch_register_interrupt_callback(
    esp_lcd_touch_handle_t touch, esp_lcd_touch_interrupt_callback_t callback) {
    return (void)touch, (void)callback, ESP_OK;
}
static inline esp_err_t esp_lcd_touch_register_interrupt_callback_with_data(
    esp_lcd_touch_handle_t touch, esp_lcd_touch_interrupt_callback_t callback, void *user_data) {
    return (void)touch, (void)callback, (void)user_data, ESP_OK;
}
static inline esp_err_t esp_lcd_touch_del(esp_lcd_touch_handle_t touch) { return (void)touch, ESP_OK; }

#define KIT_TOUCH(chip)                                                                              \
    static inline esp_err_t esp_lcd_touch_new_i2c_##chip(const esp_lcd_panel_io_handle_t io,         \
                                                         const esp_lcd_touch_config_t *config,       \
                                                         esp_lcd_touch_handle_t *out) {              \
        return (void)io, (void)config, KIT_NEW(out);                                                 \
    }
#define KIT_TOUCH_IO(address) \
    { .dev_addr = (address), .control_phase_bytes = 1, .dc_bit_offset = 0, .lcd_cmd_bits = 8, .flags = { .disable_control_phase = 1 } }
