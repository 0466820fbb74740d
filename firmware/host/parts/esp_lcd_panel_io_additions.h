// espressif/esp_lcd_panel_io_additions: a slow bus of three lines.
#pragma once

#include "esp_io_expander.h"
#include "kit_panel.h"

typedef enum { IO_TYPE_GPIO, IO_TYPE_EXPANDER } panel_io_type_t;
typedef struct {
    panel_io_type_t cs_io_type;
    union {
        int cs_gpio_num;
        esp_io_expander_pin_num_t cs_expander_pin;
    };
    panel_io_type_t scl_io_type;
    union {
        int scl_gpio_num;
        esp_io_expander_pin_num_t scl_expander_pin;
    };
    panel_io_type_t sda_io_type;
    union {
        int sda_gpio_num;
        esp_io_expander_pin_num_t sda_expander_pin;
    };
    esp_io_expander_handle_t io_expander;
} spi_line_config_t;
typedef struct {
    spi_line_config_t line_config;
    uint32_t expect_clk_speed;
    uint32_t spi_mode : 2;
    uint32_t lcd_cmd_bytes : 3;
    uint32_t lcd_param_bytes : 3;
    struct {
        uint32_t use_dc_bit : 1;
        uint32_t dc_zero_on_data : 1;
        uint32_t lsb_first : 1;
        uint32_t cs_high_active : 1;
        uint32_t del_keep_cs_inactive : 1;
    } flags;
} esp_lcd_panel_io_3wire_spi_config_t;
#define PANEL_IO_3WIRE_SPI_CLK_MAX 500000
#define KIT_PANEL_3WIRE_IO(lines, edge) \
    { .line_config = (lines), .expect_clk_speed = 500000, .spi_mode = (edge) ? 1U : 0U, .lcd_cmd_bytes = 1, .lcd_param_bytes = 1 }

static inline esp_err_t esp_lcd_new_panel_io_3wire_spi(const esp_lcd_panel_io_3wire_spi_config_t *config,
                                                       esp_lcd_panel_io_handle_t *out) {
    return (void)config, KIT_NEW(out);
}
