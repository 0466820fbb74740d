#pragma once

#include "kit_handle.h"

typedef struct kit_ldo *esp_ldo_channel_handle_t;
typedef struct {
    int chan_id;
    int voltage_mv;
    struct {
        uint32_t adjustable : 1;
        uint32_t owned_by_hw : 1;
    } flags;
} esp_ldo_channel_config_t;

static inline esp_err_t esp_ldo_acquire_channel(const esp_ldo_channel_config_t *config,
                                                esp_ldo_channel_handle_t *out) {
    return (void)config, KIT_NEW(out);
}
static inline esp_err_t esp_ldo_release_channel(esp_ldo_channel_handle_t channel) {
    return (void)channel, ESP_OK;
}
