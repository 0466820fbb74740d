// espressif/button: see button_types.h.
#pragma once

#include "button_types.h"

typedef struct {
    int32_t gpio_num;
    uint8_t active_level;
    bool enable_power_save;
    bool disable_pull;
} button_gpio_config_t;

// The driver pulls the pin to where the button is released.
static inline esp_err_t iot_button_new_gpio_device(const button_config_t *config,
                                                   const button_gpio_config_t *gpio, button_handle_t *out) {
    (void)config;
    gpio_set_pull_mode((gpio_num_t)gpio->gpio_num,
                       gpio->active_level != 0 ? GPIO_PULLDOWN_ONLY : GPIO_PULLUP_ONLY);
    return KIT_NEW(out);
}
