// A driver of a panel is a function that makes one; these make one that takes everything.
#pragma once

#include <stdlib.h>

#include "esp_lcd_panel_interface.h"
#include "esp_lcd_panel_io.h"

typedef struct {
    lcd_rgb_element_order_t rgb_ele_order;
    lcd_rgb_data_endian_t data_endian;
    uint32_t bits_per_pixel;
    gpio_num_t reset_gpio_num;
    void *vendor_config;
    struct {
        uint32_t reset_active_high : 1;
    } flags;
} esp_lcd_panel_dev_config_t;

static inline esp_err_t kit_panel_done(esp_lcd_panel_t *panel) { return (void)panel, ESP_OK; }

static inline esp_err_t kit_new_panel(esp_lcd_panel_handle_t *out) {
    *out = (esp_lcd_panel_t *)calloc(1, sizeof(esp_lcd_panel_t));
    if (*out == NULL) {
        return ESP_ERR_NO_MEM;
    }
    // A board's own driver that wraps this panel keeps these three and calls them.
    (*out)->reset = kit_panel_done;
    (*out)->init = kit_panel_done;
    (*out)->del = kit_panel_done;
    return ESP_OK;
}

#define KIT_PANEL_FUNCTION(name)                                                                    \
    static inline esp_err_t esp_lcd_new_panel_##name(const esp_lcd_panel_io_handle_t io,            \
                                                     const esp_lcd_panel_dev_config_t *config,      \
                                                     esp_lcd_panel_handle_t *out) {                 \
        return (void)io, (void)config, kit_new_panel(out);                                          \
    }

// Commands that a board sends at the start.
#define KIT_PANEL_COMMANDS(name)   \
    typedef struct {               \
        int cmd;                   \
        const void *data;          \
        size_t data_bytes;         \
        unsigned int delay_ms;     \
    } name##_lcd_init_cmd_t;

// Drivers in Espressif's registry have these parts, with these names; each has some of the settings.
// C++ wants them in the order in which a board sets them, and drivers differ in where one of them is.
#define KIT_PANEL_DRIVER(name) KIT_PANEL_DRIVER_OF(name, , const void *rgb_config;)
#define KIT_PANEL_DRIVER_RGB_FIRST(name) KIT_PANEL_DRIVER_OF(name, const void *rgb_config;, )
#define KIT_PANEL_DRIVER_OF(name, first, later)                                                     \
    KIT_PANEL_COMMANDS(name)                                                                        \
    typedef struct {                                                                                \
        first                                                                                       \
        const name##_lcd_init_cmd_t *init_cmds;                                                     \
        uint16_t init_cmds_size;                                                                    \
        later                                                                                       \
        struct {                                                                                    \
            void *dsi_bus;                                                                          \
            const void *dpi_config;                                                                 \
            uint8_t lane_num;                                                                       \
        } mipi_config;                                                                              \
        struct {                                                                                    \
            unsigned int use_spi_interface : 1;                                                     \
            unsigned int use_qspi_interface : 1;                                                    \
            unsigned int use_rgb_interface : 1;                                                     \
            unsigned int use_mipi_interface : 1;                                                    \
            unsigned int mirror_by_cmd : 1;                                                         \
            union {                                                                                 \
                unsigned int auto_del_panel_io : 1;                                                 \
                unsigned int enable_io_multiplex : 1;                                               \
            };                                                                                      \
        } flags;                                                                                    \
    } name##_vendor_config_t;                                                                       \
    KIT_PANEL_FUNCTION(name)

// The settings of a bus, as the drivers' macros give them: a list of fields for C++ and C.
#define KIT_PANEL_QSPI_BUS(clock, d0, d1, d2, d3, size) \
    { .data0_io_num = (d0), .data1_io_num = (d1), .sclk_io_num = (clock), .data2_io_num = (d2), \
      .data3_io_num = (d3), .max_transfer_sz = (int)(size) }
#define KIT_PANEL_SPI_BUS(clock, data, size) \
    { .mosi_io_num = (data), .miso_io_num = -1, .sclk_io_num = (clock), .quadwp_io_num = -1, \
      .quadhd_io_num = -1, .max_transfer_sz = (int)(size) }
#define KIT_PANEL_QSPI_IO(cs, callback, context) \
    { .cs_gpio_num = (gpio_num_t)(cs), .dc_gpio_num = GPIO_NUM_NC, .pclk_hz = 40000000, .trans_queue_depth = 10, \
      .on_color_trans_done = (callback), .user_ctx = (context), .lcd_cmd_bits = 32, .lcd_param_bits = 8, \
      .flags = { .quad_mode = 1 } }
#define KIT_PANEL_SPI_IO(cs, dc, callback, context) \
    { .cs_gpio_num = (gpio_num_t)(cs), .dc_gpio_num = (gpio_num_t)(dc), .pclk_hz = 40000000, .trans_queue_depth = 10, \
      .on_color_trans_done = (callback), .user_ctx = (context), .lcd_cmd_bits = 8, .lcd_param_bits = 8 }
