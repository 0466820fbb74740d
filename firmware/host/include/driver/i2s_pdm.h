#pragma once

// The genuine header brings this along, and firmware relies on it.
#include "driver/i2s_std.h"

typedef enum { I2S_PDM_SIG_SCALING_DIV_2, I2S_PDM_SIG_SCALING_MUL_1, I2S_PDM_SIG_SCALING_MUL_2, I2S_PDM_SIG_SCALING_MUL_4 } i2s_pdm_sig_scale_t;

typedef struct {
    uint32_t sample_rate_hz;
    i2s_clock_src_t clk_src;
    i2s_mclk_multiple_t mclk_multiple;
    uint32_t bclk_div;
    uint32_t up_sample_fp;
    uint32_t up_sample_fs;
} i2s_pdm_tx_clk_config_t;
typedef struct {
    i2s_data_bit_width_t data_bit_width;
    i2s_slot_bit_width_t slot_bit_width;
    i2s_slot_mode_t slot_mode;
    uint32_t sd_prescale;
    i2s_pdm_sig_scale_t sd_scale;
    i2s_pdm_sig_scale_t hp_scale;
    i2s_pdm_sig_scale_t lp_scale;
    i2s_pdm_sig_scale_t sinc_scale;
} i2s_pdm_tx_slot_config_t;
typedef struct {
    gpio_num_t clk;
    gpio_num_t dout;
    gpio_num_t dout2;
    struct {
        uint32_t clk_inv : 1;
    } invert_flags;
} i2s_pdm_tx_gpio_config_t;
typedef struct {
    i2s_pdm_tx_clk_config_t clk_cfg;
    i2s_pdm_tx_slot_config_t slot_cfg;
    i2s_pdm_tx_gpio_config_t gpio_cfg;
} i2s_pdm_tx_config_t;
typedef struct {
    uint32_t sample_rate_hz;
    i2s_clock_src_t clk_src;
    i2s_mclk_multiple_t mclk_multiple;
} i2s_pdm_rx_clk_config_t;
typedef struct {
    i2s_data_bit_width_t data_bit_width;
    i2s_slot_bit_width_t slot_bit_width;
    i2s_slot_mode_t slot_mode;
} i2s_pdm_rx_slot_config_t;
typedef struct {
    gpio_num_t clk;
    gpio_num_t din;
    struct {
        uint32_t clk_inv : 1;
    } invert_flags;
} i2s_pdm_rx_gpio_config_t;
typedef struct {
    i2s_pdm_rx_clk_config_t clk_cfg;
    i2s_pdm_rx_slot_config_t slot_cfg;
    i2s_pdm_rx_gpio_config_t gpio_cfg;
} i2s_pdm_rx_config_t;

#define I2S_PDM_TX_CLK_DEFAULT_CONFIG(rate) \
    { .sample_rate_hz = (rate), .clk_src = I2S_CLK_SRC_DEFAULT, .mclk_multiple = I2S_MCLK_MULTIPLE_256, \
      .up_sample_fp = 960, .up_sample_fs = (rate) / 100 }
#define I2S_PDM_TX_SLOT_DEFAULT_CONFIG(bits, mode) { .data_bit_width = (bits), .slot_mode = (mode) }
#define I2S_PDM_RX_CLK_DEFAULT_CONFIG(rate) \
    { .sample_rate_hz = (rate), .clk_src = I2S_CLK_SRC_DEFAULT, .mclk_multiple = I2S_MCLK_MULTIPLE_256 }
#define I2S_PDM_RX_SLOT_DEFAULT_CONFIG(bits, mode) { .data_bit_width = (bits), .slot_mode = (mode) }

static inline esp_err_t i2s_channel_init_pdm_tx_mode(i2s_chan_handle_t channel,
                                                     const i2s_pdm_tx_config_t *config) {
    return (void)channel, (void)config, ESP_OK;
}
static inline esp_err_t i2s_channel_init_pdm_rx_mode(i2s_chan_handle_t channel,
                                                     const i2s_pdm_rx_config_t *config) {
    return (void)channel, (void)config, ESP_OK;
}
static inline esp_err_t i2s_channel_reconfig_pdm_tx_clock(i2s_chan_handle_t channel,
                                                          const i2s_pdm_tx_clk_config_t *config) {
    return (void)channel, (void)config, ESP_OK;
}
