#pragma once

#include <string.h>

#include "driver/i2c_types.h"
#include "driver/spi_master.h"
#include "esp_lcd_types.h"

typedef int esp_lcd_spi_bus_handle_t;
typedef struct kit_i80_bus *esp_lcd_i80_bus_handle_t;

typedef struct {
    gpio_num_t cs_gpio_num;
    gpio_num_t dc_gpio_num;
    int spi_mode;
    unsigned int pclk_hz;
    size_t trans_queue_depth;
    esp_lcd_panel_io_color_trans_done_cb_t on_color_trans_done;
    void *user_ctx;
    int lcd_cmd_bits;
    int lcd_param_bits;
    uint8_t cs_ena_pretrans;
    uint8_t cs_ena_posttrans;
    struct {
        unsigned int dc_high_on_cmd : 1;
        unsigned int dc_low_on_data : 1;
        unsigned int dc_low_on_param : 1;
        unsigned int octal_mode : 1;
        unsigned int quad_mode : 1;
        unsigned int sio_mode : 1;
        unsigned int psram_dma_direct : 1;
        unsigned int lsb_first : 1;
        unsigned int cs_high_active : 1;
    } flags;
} esp_lcd_panel_io_spi_config_t;

// ESP-IDF 6 has moved fields of this one, and C++ wants them in the order of the declaration.
typedef struct {
    uint32_t dev_addr;
#if KIT_IDF_5
    esp_lcd_panel_io_color_trans_done_cb_t on_color_trans_done;
    void *user_ctx;
#else
    uint32_t scl_speed_hz;
#endif
    size_t control_phase_bytes;
    unsigned int dc_bit_offset;
    int lcd_cmd_bits;
    int lcd_param_bits;
#if !KIT_IDF_5
    esp_lcd_panel_io_color_trans_done_cb_t on_color_trans_done;
    void *user_ctx;
#endif
    struct {
        unsigned int dc_low_on_data : 1;
        unsigned int disable_control_phase : 1;
    } flags;
#if KIT_IDF_5
    uint32_t scl_speed_hz;
#else
    int transaction_timeout_ms;
#endif
} esp_lcd_panel_io_i2c_config_t;

typedef struct {
    gpio_num_t dc_gpio_num;
    gpio_num_t wr_gpio_num;
    lcd_clock_source_t clk_src;
    gpio_num_t data_gpio_nums[24];
    size_t bus_width;
    size_t max_transfer_bytes;
    size_t psram_trans_align;
    size_t sram_trans_align;
    size_t dma_burst_size;
} esp_lcd_i80_bus_config_t;

typedef struct {
    gpio_num_t cs_gpio_num;
    uint32_t pclk_hz;
    size_t trans_queue_depth;
    esp_lcd_panel_io_color_trans_done_cb_t on_color_trans_done;
    void *user_ctx;
    int lcd_cmd_bits;
    int lcd_param_bits;
    struct {
        unsigned int dc_idle_level : 1;
        unsigned int dc_cmd_level : 1;
        unsigned int dc_dummy_level : 1;
        unsigned int dc_data_level : 1;
    } dc_levels;
    struct {
        unsigned int cs_active_high : 1;
        unsigned int reverse_color_bits : 1;
        unsigned int swap_color_bytes : 1;
        unsigned int pclk_active_neg : 1;
        unsigned int pclk_idle_low : 1;
    } flags;
} esp_lcd_panel_io_i80_config_t;

static inline esp_err_t esp_lcd_new_panel_io_spi(esp_lcd_spi_bus_handle_t bus,
                                                 const esp_lcd_panel_io_spi_config_t *config,
                                                 esp_lcd_panel_io_handle_t *out) {
    return (void)bus, (void)config, KIT_NEW(out);
}
static inline esp_err_t esp_lcd_new_panel_io_i2c(i2c_master_bus_handle_t bus,
                                                 const esp_lcd_panel_io_i2c_config_t *config,
                                                 esp_lcd_panel_io_handle_t *out) {
    return (void)bus, (void)config, KIT_NEW(out);
}
static inline esp_err_t esp_lcd_new_i80_bus(const esp_lcd_i80_bus_config_t *config,
                                            esp_lcd_i80_bus_handle_t *out) {
    return (void)config, KIT_NEW(out);
}
static inline esp_err_t esp_lcd_new_panel_io_i80(esp_lcd_i80_bus_handle_t bus,
                                                 const esp_lcd_panel_io_i80_config_t *config,
                                                 esp_lcd_panel_io_handle_t *out) {
    return (void)bus, (void)config, KIT_NEW(out);
}
static inline esp_err_t esp_lcd_panel_io_del(esp_lcd_panel_io_handle_t io) { return (void)io, ESP_OK; }
static inline esp_err_t esp_lcd_panel_io_tx_param(esp_lcd_panel_io_handle_t io, int command,
                                                  const void *data, size_t size) {
    return (void)io, (void)command, (void)data, (void)size, ESP_OK;
}
static inline esp_err_t esp_lcd_panel_io_tx_color(esp_lcd_panel_io_handle_t io, int command,
                                                  const void *data, size_t size) {
    return (void)io, (void)command, (void)data, (void)size, ESP_OK;
}
static inline esp_err_t esp_lcd_panel_io_rx_param(esp_lcd_panel_io_handle_t io, int command, void *data,
                                                  size_t size) {
    memset(data, 0, size);
    return (void)io, (void)command, ESP_OK;
}
static inline esp_err_t esp_lcd_panel_io_register_event_callbacks(
    esp_lcd_panel_io_handle_t io, const esp_lcd_panel_io_callbacks_t *callbacks, void *user_ctx) {
    return (void)io, (void)callbacks, (void)user_ctx, ESP_OK;
}
