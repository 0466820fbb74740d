#pragma once

#include "driver/gpio.h"

typedef enum {
    ESP_SLEEP_WAKEUP_UNDEFINED,
    ESP_SLEEP_WAKEUP_ALL,
    ESP_SLEEP_WAKEUP_EXT0,
    ESP_SLEEP_WAKEUP_EXT1,
    ESP_SLEEP_WAKEUP_TIMER,
    ESP_SLEEP_WAKEUP_TOUCHPAD,
    ESP_SLEEP_WAKEUP_ULP,
    ESP_SLEEP_WAKEUP_GPIO,
    ESP_SLEEP_WAKEUP_UART
} esp_sleep_source_t;
typedef esp_sleep_source_t esp_sleep_wakeup_cause_t;
typedef enum { ESP_EXT1_WAKEUP_ANY_LOW, ESP_EXT1_WAKEUP_ANY_HIGH, ESP_EXT1_WAKEUP_ALL_LOW = 0 } esp_sleep_ext1_wakeup_mode_t;
typedef enum { ESP_GPIO_WAKEUP_GPIO_LOW, ESP_GPIO_WAKEUP_GPIO_HIGH } esp_deepsleep_gpio_wake_up_mode_t;
typedef enum { ESP_PD_DOMAIN_RTC_PERIPH, ESP_PD_DOMAIN_VDDSDIO, ESP_PD_DOMAIN_MAX } esp_sleep_pd_domain_t;
typedef enum { ESP_PD_OPTION_OFF, ESP_PD_OPTION_ON, ESP_PD_OPTION_AUTO } esp_sleep_pd_option_t;

#ifdef __cplusplus
extern "C" {
#endif
// The button wakes the device at once: out of deep sleep it starts anew.
void esp_deep_sleep_start(void) __attribute__((noreturn));
void esp_deep_sleep(uint64_t microseconds) __attribute__((noreturn));
esp_err_t esp_light_sleep_start(void);
esp_sleep_wakeup_cause_t esp_sleep_get_wakeup_cause(void);
uint32_t esp_sleep_get_wakeup_causes(void);
#ifdef __cplusplus
}
#endif

static inline esp_err_t esp_sleep_enable_timer_wakeup(uint64_t microseconds) {
    return (void)microseconds, ESP_OK;
}
static inline esp_err_t esp_sleep_enable_ext0_wakeup(gpio_num_t pin, int level) {
    return (void)pin, (void)level, ESP_OK;
}
static inline esp_err_t esp_sleep_enable_ext1_wakeup(uint64_t mask, esp_sleep_ext1_wakeup_mode_t mode) {
    return (void)mask, (void)mode, ESP_OK;
}
static inline esp_err_t esp_sleep_enable_ext1_wakeup_io(uint64_t mask, esp_sleep_ext1_wakeup_mode_t mode) {
    return (void)mask, (void)mode, ESP_OK;
}
static inline esp_err_t esp_sleep_enable_gpio_wakeup(void) { return ESP_OK; }
static inline esp_err_t esp_deep_sleep_enable_gpio_wakeup(uint64_t mask,
                                                          esp_deepsleep_gpio_wake_up_mode_t mode) {
    return (void)mask, (void)mode, ESP_OK;
}
static inline esp_err_t esp_sleep_disable_wakeup_source(esp_sleep_source_t source) {
    return (void)source, ESP_OK;
}
static inline esp_err_t esp_sleep_pd_config(esp_sleep_pd_domain_t domain, esp_sleep_pd_option_t option) {
    return (void)domain, (void)option, ESP_OK;
}
