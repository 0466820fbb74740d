#pragma once

#include <stdbool.h>

#include "esp_bit_defs.h"
#include "esp_err.h"
#include "soc/gpio_num.h"

typedef enum {
    GPIO_MODE_DISABLE,
    GPIO_MODE_INPUT,
    GPIO_MODE_OUTPUT,
    GPIO_MODE_INPUT_OUTPUT,
    GPIO_MODE_OUTPUT_OD = 6,
    GPIO_MODE_INPUT_OUTPUT_OD
} gpio_mode_t;
typedef enum { GPIO_PULLUP_DISABLE, GPIO_PULLUP_ENABLE } gpio_pullup_t;
typedef enum { GPIO_PULLDOWN_DISABLE, GPIO_PULLDOWN_ENABLE } gpio_pulldown_t;
typedef enum {
    GPIO_PULLUP_ONLY,
    GPIO_PULLDOWN_ONLY,
    GPIO_PULLUP_PULLDOWN,
    GPIO_FLOATING
} gpio_pull_mode_t;
typedef enum {
    GPIO_INTR_DISABLE,
    GPIO_INTR_POSEDGE,
    GPIO_INTR_NEGEDGE,
    GPIO_INTR_ANYEDGE,
    GPIO_INTR_LOW_LEVEL,
    GPIO_INTR_HIGH_LEVEL
} gpio_int_type_t;
typedef enum {
    GPIO_DRIVE_CAP_0,
    GPIO_DRIVE_CAP_1,
    GPIO_DRIVE_CAP_2,
    GPIO_DRIVE_CAP_DEFAULT = 2,
    GPIO_DRIVE_CAP_3
} gpio_drive_cap_t;
typedef void (*gpio_isr_t)(void *arg);

typedef struct {
    uint64_t pin_bit_mask;
    gpio_mode_t mode;
    gpio_pullup_t pull_up_en;
    gpio_pulldown_t pull_down_en;
    gpio_int_type_t intr_type;
} gpio_config_t;

#define GPIO_IS_VALID_GPIO(pin) ((pin) >= 0 && (pin) < GPIO_NUM_MAX)
#define GPIO_IS_VALID_OUTPUT_GPIO(pin) GPIO_IS_VALID_GPIO(pin)

#ifdef __cplusplus
extern "C" {
#endif
// A pin that is an input, and one that nobody has set, reads as a released button: 1, or 0 if it is
// pulled down.
esp_err_t gpio_config(const gpio_config_t *config);
esp_err_t gpio_set_level(gpio_num_t pin, uint32_t level);
int gpio_get_level(gpio_num_t pin);
esp_err_t gpio_set_direction(gpio_num_t pin, gpio_mode_t mode);
esp_err_t gpio_set_pull_mode(gpio_num_t pin, gpio_pull_mode_t pull);
esp_err_t gpio_reset_pin(gpio_num_t pin);
#ifdef __cplusplus
}
#endif

// Nothing ever interrupts, and nothing sleeps.
#define KIT_PIN(name) \
    static inline esp_err_t name(gpio_num_t pin) { return (void)pin, ESP_OK; }
KIT_PIN(gpio_hold_en)
KIT_PIN(gpio_hold_dis)
KIT_PIN(gpio_intr_enable)
KIT_PIN(gpio_intr_disable)
KIT_PIN(gpio_pullup_en)
KIT_PIN(gpio_pullup_dis)
KIT_PIN(gpio_pulldown_en)
KIT_PIN(gpio_pulldown_dis)
KIT_PIN(gpio_isr_handler_remove)
KIT_PIN(gpio_wakeup_disable)
KIT_PIN(gpio_sleep_sel_dis)
#undef KIT_PIN
static inline void gpio_deep_sleep_hold_en(void) {}
static inline void gpio_deep_sleep_hold_dis(void) {}
static inline esp_err_t gpio_install_isr_service(int flags) { return (void)flags, ESP_OK; }
static inline void gpio_uninstall_isr_service(void) {}
static inline esp_err_t gpio_isr_handler_add(gpio_num_t pin, gpio_isr_t handler, void *arg) {
    return (void)pin, (void)handler, (void)arg, ESP_OK;
}
static inline esp_err_t gpio_set_intr_type(gpio_num_t pin, gpio_int_type_t type) {
    return (void)pin, (void)type, ESP_OK;
}
static inline esp_err_t gpio_wakeup_enable(gpio_num_t pin, gpio_int_type_t type) {
    return (void)pin, (void)type, ESP_OK;
}
static inline esp_err_t gpio_set_drive_capability(gpio_num_t pin, gpio_drive_cap_t strength) {
    return (void)pin, (void)strength, ESP_OK;
}
