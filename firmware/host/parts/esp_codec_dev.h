// espressif/esp_codec_dev: chips that turn bits into sound. They take everything.
#pragma once

#include <stdbool.h>
#include <string.h>

#include "kit_handle.h"

#define ESP_CODEC_DEV_OK 0
#define ESP_CODEC_DEV_MAKE_CHANNEL_MASK(channel) ((uint16_t)1 << (channel))

typedef enum {
    ESP_CODEC_DEV_TYPE_NONE,
    ESP_CODEC_DEV_TYPE_IN = 1,
    ESP_CODEC_DEV_TYPE_OUT = 2,
    ESP_CODEC_DEV_TYPE_IN_OUT = 3
} esp_codec_dev_type_t;
typedef enum {
    ESP_CODEC_DEV_WORK_MODE_NONE,
    ESP_CODEC_DEV_WORK_MODE_ADC = 1,
    ESP_CODEC_DEV_WORK_MODE_DAC = 2,
    ESP_CODEC_DEV_WORK_MODE_BOTH = 3,
    ESP_CODEC_DEV_WORK_MODE_LINE = 4
} esp_codec_dec_work_mode_t;
typedef void *esp_codec_dev_handle_t;

typedef struct {
    uint8_t bits_per_sample;
    uint8_t channel;
    uint16_t channel_mask;
    uint32_t sample_rate;
    int mclk_multiple;
} esp_codec_dev_sample_info_t;
typedef struct {
    float pa_voltage;
    float codec_dac_voltage;
    float pa_gain;
} esp_codec_dev_hw_gain_t;

// Boards write to registers of a chip themselves, through these.
typedef struct audio_codec_ctrl_if_t audio_codec_ctrl_if_t;
struct audio_codec_ctrl_if_t {
    int (*open)(const audio_codec_ctrl_if_t *control, void *config, int size);
    bool (*is_open)(const audio_codec_ctrl_if_t *control);
    int (*read_reg)(const audio_codec_ctrl_if_t *control, int reg, int reg_size, void *data, int size);
    int (*write_reg)(const audio_codec_ctrl_if_t *control, int reg, int reg_size, void *data, int size);
    int (*close)(const audio_codec_ctrl_if_t *control);
};
typedef struct kit_codec_data audio_codec_data_if_t;
typedef struct kit_codec_pins audio_codec_gpio_if_t;
typedef struct audio_codec_if_t audio_codec_if_t;
struct audio_codec_if_t {
    int (*open)(const audio_codec_if_t *codec, void *config, int size);
    bool (*is_open)(const audio_codec_if_t *codec);
    int (*enable)(const audio_codec_if_t *codec, bool enable);
    int (*set_fs)(const audio_codec_if_t *codec, esp_codec_dev_sample_info_t *info);
    int (*mute)(const audio_codec_if_t *codec, bool mute);
    int (*set_vol)(const audio_codec_if_t *codec, float volume);
    int (*set_mic_gain)(const audio_codec_if_t *codec, float gain);
    int (*set_mic_channel_gain)(const audio_codec_if_t *codec, uint16_t mask, float gain);
    int (*mute_mic)(const audio_codec_if_t *codec, bool mute);
    int (*set_reg)(const audio_codec_if_t *codec, int reg, int value);
    int (*get_reg)(const audio_codec_if_t *codec, int reg, int *value);
    void (*dump_reg)(const audio_codec_if_t *codec);
    int (*close)(const audio_codec_if_t *codec);
};

typedef struct {
    esp_codec_dev_type_t dev_type;
    const audio_codec_if_t *codec_if;
    const audio_codec_data_if_t *data_if;
} esp_codec_dev_cfg_t;

static inline esp_codec_dev_handle_t esp_codec_dev_new(esp_codec_dev_cfg_t *config) {
    return (void)config, kit_handle();
}
static inline void esp_codec_dev_delete(esp_codec_dev_handle_t device) { (void)device; }
static inline int esp_codec_dev_open(esp_codec_dev_handle_t device, esp_codec_dev_sample_info_t *info) {
    return (void)device, (void)info, ESP_OK;
}
static inline int esp_codec_dev_close(esp_codec_dev_handle_t device) { return (void)device, ESP_OK; }
static inline int esp_codec_dev_read(esp_codec_dev_handle_t device, void *data, int size) {
    memset(data, 0, (size_t)size);
    return (void)device, ESP_OK;
}
static inline int esp_codec_dev_write(esp_codec_dev_handle_t device, void *data, int size) {
    return (void)device, (void)data, (void)size, ESP_OK;
}
static inline int esp_codec_dev_set_out_vol(esp_codec_dev_handle_t device, int volume) {
    return (void)device, (void)volume, ESP_OK;
}
static inline int esp_codec_dev_set_out_mute(esp_codec_dev_handle_t device, bool mute) {
    return (void)device, (void)mute, ESP_OK;
}
static inline int esp_codec_dev_set_in_gain(esp_codec_dev_handle_t device, float gain) {
    return (void)device, (void)gain, ESP_OK;
}
static inline int esp_codec_dev_set_in_channel_gain(esp_codec_dev_handle_t device, uint16_t mask, float gain) {
    return (void)device, (void)mask, (void)gain, ESP_OK;
}
static inline int esp_codec_set_disable_when_closed(esp_codec_dev_handle_t device, bool disable) {
    return (void)device, (void)disable, ESP_OK;
}
