// espressif/esp_io_expander: more pins. Inputs read as released buttons, like the chip's own.
#pragma once

#include <stdbool.h>

#include "driver/i2c_master.h"

// Of this structure boards with a driver of their own make one; nothing here calls it.
typedef struct esp_io_expander_s esp_io_expander_t;
typedef esp_io_expander_t *esp_io_expander_handle_t;
struct esp_io_expander_s {
    esp_err_t (*read_input_reg)(esp_io_expander_handle_t handle, uint32_t *value);
    esp_err_t (*write_output_reg)(esp_io_expander_handle_t handle, uint32_t value);
    esp_err_t (*read_output_reg)(esp_io_expander_handle_t handle, uint32_t *value);
    esp_err_t (*write_direction_reg)(esp_io_expander_handle_t handle, uint32_t value);
    esp_err_t (*read_direction_reg)(esp_io_expander_handle_t handle, uint32_t *value);
    esp_err_t (*reset)(esp_io_expander_t *handle);
    esp_err_t (*del)(esp_io_expander_t *handle);
    struct {
        uint8_t io_count;
        struct {
            uint8_t dir_out_bit_zero : 1;
            uint8_t input_high_bit_zero : 1;
            uint8_t output_high_bit_zero : 1;
        } flags;
    } config;
};
typedef enum { IO_EXPANDER_INPUT, IO_EXPANDER_OUTPUT } esp_io_expander_dir_t;
typedef enum { IO_EXPANDER_PULL_NONE, IO_EXPANDER_PULL_UP, IO_EXPANDER_PULL_DOWN } esp_io_expander_pullupdown_t;
typedef enum {
    IO_EXPANDER_PIN_NUM_0 = 1 << 0,
    IO_EXPANDER_PIN_NUM_1 = 1 << 1,
    IO_EXPANDER_PIN_NUM_2 = 1 << 2,
    IO_EXPANDER_PIN_NUM_3 = 1 << 3,
    IO_EXPANDER_PIN_NUM_4 = 1 << 4,
    IO_EXPANDER_PIN_NUM_5 = 1 << 5,
    IO_EXPANDER_PIN_NUM_6 = 1 << 6,
    IO_EXPANDER_PIN_NUM_7 = 1 << 7,
    IO_EXPANDER_PIN_NUM_8 = 1 << 8,
    IO_EXPANDER_PIN_NUM_9 = 1 << 9,
    IO_EXPANDER_PIN_NUM_10 = 1 << 10,
    IO_EXPANDER_PIN_NUM_11 = 1 << 11,
    IO_EXPANDER_PIN_NUM_12 = 1 << 12,
    IO_EXPANDER_PIN_NUM_13 = 1 << 13,
    IO_EXPANDER_PIN_NUM_14 = 1 << 14,
    IO_EXPANDER_PIN_NUM_15 = 1 << 15
} esp_io_expander_pin_num_t;

static inline esp_err_t esp_io_expander_set_dir(esp_io_expander_handle_t handle, uint32_t pins,
                                                esp_io_expander_dir_t direction) {
    return (void)handle, (void)pins, (void)direction, ESP_OK;
}
static inline esp_err_t esp_io_expander_set_level(esp_io_expander_handle_t handle, uint32_t pins, uint8_t level) {
    return (void)handle, (void)pins, (void)level, ESP_OK;
}
static inline esp_err_t esp_io_expander_get_level(esp_io_expander_handle_t handle, uint32_t pins,
                                                  uint32_t *levels) {
    *levels = pins;
    return (void)handle, ESP_OK;
}
static inline esp_err_t esp_io_expander_set_pullupdown(esp_io_expander_handle_t handle, uint32_t pins,
                                                       esp_io_expander_pullupdown_t pull) {
    return (void)handle, (void)pins, (void)pull, ESP_OK;
}
static inline esp_err_t esp_io_expander_print_state(esp_io_expander_handle_t handle) {
    return (void)handle, ESP_OK;
}
static inline esp_err_t esp_io_expander_del(esp_io_expander_handle_t handle) { return (void)handle, ESP_OK; }

#define KIT_IO_EXPANDER(chip)                                                                            \
    static inline esp_err_t esp_io_expander_new_i2c_##chip(i2c_master_bus_handle_t bus, uint32_t address, \
                                                           esp_io_expander_handle_t *out) {              \
        return (void)bus, (void)address, KIT_NEW(out);                                                   \
    }
