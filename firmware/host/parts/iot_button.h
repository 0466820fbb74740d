// espressif/button: see button_types.h.
#pragma once

#include "button_types.h"

static inline esp_err_t iot_button_create(const button_config_t *config, const button_driver_t *driver,
                                          button_handle_t *out) {
    return (void)config, (void)driver, KIT_NEW(out);
}
static inline esp_err_t iot_button_delete(button_handle_t button) { return (void)button, ESP_OK; }
static inline esp_err_t iot_button_register_cb(button_handle_t button, button_event_t event,
                                               button_event_args_t *arguments, button_cb_t callback,
                                               void *user_data) {
    return (void)button, (void)event, (void)arguments, (void)callback, (void)user_data, ESP_OK;
}
static inline esp_err_t iot_button_unregister_cb(button_handle_t button, button_event_t event,
                                                 button_event_args_t *arguments) {
    return (void)button, (void)event, (void)arguments, ESP_OK;
}
static inline button_event_t iot_button_get_event(button_handle_t button) {
    return (void)button, BUTTON_NONE_PRESS;
}
static inline uint8_t iot_button_get_key_level(button_handle_t button) { return (void)button, BUTTON_INACTIVE; }
