// espressif/knob: nobody turns it.
#pragma once

#include <stdbool.h>

#include "kit_handle.h"

typedef void *knob_handle_t;
typedef void (*knob_cb_t)(void *knob, void *user_data);
typedef enum { KNOB_LEFT, KNOB_RIGHT, KNOB_H_LIM, KNOB_L_LIM, KNOB_ZERO, KNOB_EVENT_MAX, KNOB_NONE } knob_event_t;
typedef struct {
    uint8_t default_direction;
    uint8_t gpio_encoder_a;
    uint8_t gpio_encoder_b;
    bool enable_power_save;
} knob_config_t;

static inline knob_handle_t iot_knob_create(const knob_config_t *config) { return (void)config, kit_handle(); }
static inline esp_err_t iot_knob_delete(knob_handle_t knob) { return (void)knob, ESP_OK; }
static inline esp_err_t iot_knob_register_cb(knob_handle_t knob, knob_event_t event, knob_cb_t callback,
                                             void *user_data) {
    return (void)knob, (void)event, (void)callback, (void)user_data, ESP_OK;
}
static inline knob_event_t iot_knob_get_event(knob_handle_t knob) { return (void)knob, KNOB_NONE; }
static inline int iot_knob_get_count_value(knob_handle_t knob) { return (void)knob, 0; }
