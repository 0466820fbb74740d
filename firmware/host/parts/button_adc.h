// espressif/button: see button_types.h.
#pragma once

#include "button_types.h"
#include "esp_adc/adc_oneshot.h"

typedef struct {
    adc_oneshot_unit_handle_t *adc_handle;
    adc_unit_t unit_id;
    uint8_t adc_channel;
    uint8_t button_index;
    uint16_t min;
    uint16_t max;
} button_adc_config_t;

static inline esp_err_t iot_button_new_adc_device(const button_config_t *config, const button_adc_config_t *adc,
                                                  button_handle_t *out) {
    return (void)config, (void)adc, KIT_NEW(out);
}
