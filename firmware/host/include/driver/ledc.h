#pragma once

#include <stdbool.h>

#include "esp_err.h"

typedef enum {
#if CONFIG_IDF_TARGET_ESP32
    LEDC_HIGH_SPEED_MODE,
#endif
    LEDC_LOW_SPEED_MODE,
    LEDC_SPEED_MODE_MAX
} ledc_mode_t;
typedef enum { LEDC_TIMER_0, LEDC_TIMER_1, LEDC_TIMER_2, LEDC_TIMER_3, LEDC_TIMER_MAX } ledc_timer_t;
typedef enum {
    LEDC_CHANNEL_0,
    LEDC_CHANNEL_1,
    LEDC_CHANNEL_2,
    LEDC_CHANNEL_3,
    LEDC_CHANNEL_4,
    LEDC_CHANNEL_5,
    LEDC_CHANNEL_6,
    LEDC_CHANNEL_7,
    LEDC_CHANNEL_MAX
} ledc_channel_t;
typedef enum {
    LEDC_TIMER_1_BIT = 1,
    LEDC_TIMER_8_BIT = 8,
    LEDC_TIMER_9_BIT,
    LEDC_TIMER_10_BIT,
    LEDC_TIMER_11_BIT,
    LEDC_TIMER_12_BIT,
    LEDC_TIMER_13_BIT,
    LEDC_TIMER_14_BIT
} ledc_timer_bit_t;
typedef enum { LEDC_AUTO_CLK, LEDC_USE_APB_CLK, LEDC_USE_RC_FAST_CLK, LEDC_USE_XTAL_CLK } ledc_clk_cfg_t;
typedef enum { LEDC_INTR_DISABLE, LEDC_INTR_FADE_END } ledc_intr_type_t;
typedef enum { LEDC_SLEEP_MODE_NO_ALIVE_NO_PD, LEDC_SLEEP_MODE_NO_ALIVE_ALLOW_PD, LEDC_SLEEP_MODE_KEEP_ALIVE } ledc_sleep_mode_t;
typedef enum { LEDC_FADE_NO_WAIT, LEDC_FADE_WAIT_DONE } ledc_fade_mode_t;

typedef struct {
    ledc_mode_t speed_mode;
    ledc_timer_bit_t duty_resolution;
    ledc_timer_t timer_num;
    uint32_t freq_hz;
    ledc_clk_cfg_t clk_cfg;
    bool deconfigure;
} ledc_timer_config_t;

typedef struct {
    int gpio_num;
    ledc_mode_t speed_mode;
    ledc_channel_t channel;
    ledc_intr_type_t intr_type;
    ledc_timer_t timer_sel;
    uint32_t duty;
    int hpoint;
    ledc_sleep_mode_t sleep_mode;
    struct {
        unsigned int output_invert : 1;
    } flags;
    int deconfigure;
} ledc_channel_config_t;

typedef enum { LEDC_FADE_END_EVT } ledc_cb_event_t;
typedef struct {
    ledc_cb_event_t event;
    uint32_t speed_mode;
    uint32_t channel;
    uint32_t duty;
} ledc_cb_param_t;
typedef bool (*ledc_cb_t)(const ledc_cb_param_t *param, void *user_arg);
typedef struct {
    ledc_cb_t fade_cb;
} ledc_cbs_t;

#ifdef __cplusplus
extern "C" {
#endif
esp_err_t ledc_timer_config(const ledc_timer_config_t *config);
esp_err_t ledc_channel_config(const ledc_channel_config_t *config);
esp_err_t ledc_set_duty(ledc_mode_t mode, ledc_channel_t channel, uint32_t duty);
esp_err_t ledc_update_duty(ledc_mode_t mode, ledc_channel_t channel);
uint32_t ledc_get_duty(ledc_mode_t mode, ledc_channel_t channel);
esp_err_t ledc_stop(ledc_mode_t mode, ledc_channel_t channel, uint32_t idle_level);
#ifdef __cplusplus
}
#endif

// A fade has reached its end at once, and nobody is told: a light that fades up and down for ever
// would only take time.
static inline esp_err_t ledc_set_fade_with_time(ledc_mode_t mode, ledc_channel_t channel,
                                                uint32_t duty, int milliseconds) {
    (void)milliseconds;
    return ledc_set_duty(mode, channel, duty);
}
static inline esp_err_t ledc_fade_start(ledc_mode_t mode, ledc_channel_t channel, ledc_fade_mode_t wait) {
    return (void)mode, (void)channel, (void)wait, ESP_OK;
}
static inline esp_err_t ledc_fade_stop(ledc_mode_t mode, ledc_channel_t channel) {
    return (void)mode, (void)channel, ESP_OK;
}
static inline esp_err_t ledc_fade_func_install(int flags) { return (void)flags, ESP_OK; }
static inline void ledc_fade_func_uninstall(void) {}
static inline esp_err_t ledc_cb_register(ledc_mode_t mode, ledc_channel_t channel, ledc_cbs_t *callbacks,
                                         void *arg) {
    return (void)mode, (void)channel, (void)callbacks, (void)arg, ESP_OK;
}
static inline esp_err_t ledc_set_freq(ledc_mode_t mode, ledc_timer_t timer, uint32_t hertz) {
    return (void)mode, (void)timer, (void)hertz, ESP_OK;
}
static inline esp_err_t ledc_timer_pause(ledc_mode_t mode, ledc_timer_t timer) {
    return (void)mode, (void)timer, ESP_OK;
}
static inline esp_err_t ledc_timer_resume(ledc_mode_t mode, ledc_timer_t timer) {
    return (void)mode, (void)timer, ESP_OK;
}
