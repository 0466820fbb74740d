#pragma once

#include "driver/i2s_common.h"

typedef enum {
    I2S_TDM_SLOT0 = 1,
    I2S_TDM_SLOT1 = 2,
    I2S_TDM_SLOT2 = 4,
    I2S_TDM_SLOT3 = 8,
    I2S_TDM_SLOT4 = 16,
    I2S_TDM_SLOT5 = 32,
    I2S_TDM_SLOT6 = 64,
    I2S_TDM_SLOT7 = 128
} i2s_tdm_slot_mask_t;
#define I2S_TDM_AUTO_SLOT_NUM 0
#define I2S_TDM_AUTO_WS_WIDTH 0

typedef struct {
    i2s_data_bit_width_t data_bit_width;
    i2s_slot_bit_width_t slot_bit_width;
    i2s_slot_mode_t slot_mode;
    i2s_tdm_slot_mask_t slot_mask;
    uint32_t ws_width;
    bool ws_pol;
    bool bit_shift;
    bool left_align;
    bool big_endian;
    bool bit_order_lsb;
    bool skip_mask;
    uint32_t total_slot;
} i2s_tdm_slot_config_t;
typedef struct {
    uint32_t sample_rate_hz;
    i2s_clock_src_t clk_src;
    uint32_t ext_clk_freq_hz;
    i2s_mclk_multiple_t mclk_multiple;
    uint32_t bclk_div;
} i2s_tdm_clk_config_t;
typedef struct {
    gpio_num_t mclk;
    gpio_num_t bclk;
    gpio_num_t ws;
    gpio_num_t dout;
    gpio_num_t din;
    struct {
        uint32_t mclk_inv : 1;
        uint32_t bclk_inv : 1;
        uint32_t ws_inv : 1;
    } invert_flags;
} i2s_tdm_gpio_config_t;
typedef struct {
    i2s_tdm_clk_config_t clk_cfg;
    i2s_tdm_slot_config_t slot_cfg;
    i2s_tdm_gpio_config_t gpio_cfg;
} i2s_tdm_config_t;

static inline esp_err_t i2s_channel_init_tdm_mode(i2s_chan_handle_t channel, const i2s_tdm_config_t *config) {
    return (void)channel, (void)config, ESP_OK;
}
