// espressif/esp_codec_dev: the chips by name.
#pragma once

#include "esp_codec_dev.h"

typedef struct {
    uint8_t port;
    void *rx_handle;
    void *tx_handle;
    int clk_src;
} audio_codec_i2s_cfg_t;
typedef struct {
    uint8_t port;
    uint8_t addr;
    void *bus_handle;
} audio_codec_i2c_cfg_t;

static inline int kit_codec_register(const audio_codec_ctrl_if_t *control, int reg, int reg_size, void *data,
                                     int size) {
    return (void)control, (void)reg, (void)reg_size, (void)data, (void)size, ESP_OK;
}
static inline int kit_codec_read(const audio_codec_ctrl_if_t *control, int reg, int reg_size, void *data,
                                 int size) {
    memset(data, 0, (size_t)size);
    return kit_codec_register(control, reg, reg_size, data, size);
}
static inline int kit_codec_open(const audio_codec_ctrl_if_t *control, void *config, int size) {
    return (void)control, (void)config, (void)size, ESP_OK;
}
static inline bool kit_codec_is_open(const audio_codec_ctrl_if_t *control) { return control != NULL; }
static inline int kit_codec_close(const audio_codec_ctrl_if_t *control) { return (void)control, ESP_OK; }

static inline const audio_codec_ctrl_if_t *audio_codec_new_i2c_ctrl(audio_codec_i2c_cfg_t *config) {
    static const audio_codec_ctrl_if_t control = {kit_codec_open, kit_codec_is_open, kit_codec_read,
                                                  kit_codec_register, kit_codec_close};
    return (void)config, &control;
}
static inline const audio_codec_data_if_t *audio_codec_new_i2s_data(audio_codec_i2s_cfg_t *config) {
    return (void)config, (const audio_codec_data_if_t *)kit_handle();
}
static inline const audio_codec_gpio_if_t *audio_codec_new_gpio(void) {
    return (const audio_codec_gpio_if_t *)kit_handle();
}
static inline int audio_codec_delete_ctrl_if(const audio_codec_ctrl_if_t *x) { return (void)x, ESP_OK; }
static inline int audio_codec_delete_data_if(const audio_codec_data_if_t *x) { return (void)x, ESP_OK; }
static inline int audio_codec_delete_gpio_if(const audio_codec_gpio_if_t *x) { return (void)x, ESP_OK; }
static inline int audio_codec_delete_codec_if(const audio_codec_if_t *x) { return (void)x, ESP_OK; }

// The settings of all chips together: a board sets those that its chip has, by name.
typedef struct {
    const audio_codec_ctrl_if_t *ctrl_if;
    const audio_codec_gpio_if_t *gpio_if;
    esp_codec_dec_work_mode_t codec_mode;
    int16_t pa_pin;
    bool pa_reverted;
    bool master_mode;
    bool use_mclk;
    bool digital_mic;
    bool invert_mclk;
    bool invert_sclk;
    esp_codec_dev_hw_gain_t hw_gain;
    bool no_dac_ref;
    uint16_t mclk_div;
    int16_t reset_pin;
    uint8_t mic_selected;
    int mclk_src;
    uint16_t mclk_freq;
} kit_codec_cfg_t;
// No function of a chip is set: a board that calls one needs a stub of its own.
#define KIT_CODEC(chip)                                                         \
    typedef kit_codec_cfg_t chip##_codec_cfg_t;                                 \
    static inline const audio_codec_if_t *chip##_codec_new(chip##_codec_cfg_t *config) { \
        static audio_codec_if_t codec;                                          \
        return (void)config, &codec;                                            \
    }
KIT_CODEC(es8311)
KIT_CODEC(es8388)
KIT_CODEC(es8389)
KIT_CODEC(es8374)
KIT_CODEC(es8156)
KIT_CODEC(es7210)
KIT_CODEC(es7243)
KIT_CODEC(es7243e)
KIT_CODEC(aw88298)
KIT_CODEC(tas5805m)
KIT_CODEC(zl38063)
KIT_CODEC(dummy)

#define ES7210_SEL_MIC1 1
#define ES7210_SEL_MIC2 2
#define ES7210_SEL_MIC3 4
#define ES7210_SEL_MIC4 8
#define ES7210_120dB 0x07

#define ES8311_CODEC_DEFAULT_ADDR 0x30
#define ES8374_CODEC_DEFAULT_ADDR 0x20
#define ES8388_CODEC_DEFAULT_ADDR 0x20
#define ES8389_CODEC_DEFAULT_ADDR 0x20
#define ES8156_CODEC_DEFAULT_ADDR 0x10
#define ES7210_CODEC_DEFAULT_ADDR 0x80
#define ES7243_CODEC_DEFAULT_ADDR 0x26
#define ES7243E_CODEC_DEFAULT_ADDR 0x20
#define AW88298_CODEC_DEFAULT_ADDR 0x6C
