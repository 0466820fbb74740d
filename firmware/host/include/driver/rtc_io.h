#pragma once

#include "driver/gpio.h"

typedef enum {
    RTC_GPIO_MODE_INPUT_ONLY,
    RTC_GPIO_MODE_OUTPUT_ONLY,
    RTC_GPIO_MODE_INPUT_OUTPUT,
    RTC_GPIO_MODE_DISABLED
} rtc_gpio_mode_t;

static inline bool rtc_gpio_is_valid_gpio(gpio_num_t pin) { return pin >= 0 && pin <= GPIO_NUM_21; }
static inline esp_err_t rtc_gpio_set_level(gpio_num_t pin, uint32_t level) {
    return gpio_set_level(pin, level);
}
static inline uint32_t rtc_gpio_get_level(gpio_num_t pin) { return (uint32_t)gpio_get_level(pin); }
static inline esp_err_t rtc_gpio_set_direction(gpio_num_t pin, rtc_gpio_mode_t mode) {
    return gpio_set_direction(pin, mode == RTC_GPIO_MODE_INPUT_ONLY ? GPIO_MODE_INPUT : GPIO_MODE_OUTPUT);
}
#define KIT_PIN(name) \
    static inline esp_err_t name(gpio_num_t pin) { return (void)pin, ESP_OK; }
KIT_PIN(rtc_gpio_init)
KIT_PIN(rtc_gpio_deinit)
KIT_PIN(rtc_gpio_hold_en)
KIT_PIN(rtc_gpio_hold_dis)
KIT_PIN(rtc_gpio_pullup_en)
KIT_PIN(rtc_gpio_pullup_dis)
KIT_PIN(rtc_gpio_pulldown_en)
KIT_PIN(rtc_gpio_pulldown_dis)
#undef KIT_PIN
