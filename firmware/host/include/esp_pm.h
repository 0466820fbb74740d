#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "esp_err.h"

typedef struct kit_pm_lock *esp_pm_lock_handle_t;
typedef enum { ESP_PM_CPU_FREQ_MAX, ESP_PM_APB_FREQ_MAX, ESP_PM_NO_LIGHT_SLEEP } esp_pm_lock_type_t;

// The host has no power management: locks cannot be created, as on builds without it.
static inline esp_err_t esp_pm_lock_create(esp_pm_lock_type_t type, int arg, const char *name,
                                           esp_pm_lock_handle_t *out) {
    (void)type, (void)arg, (void)name;
    *out = NULL;
    return ESP_ERR_NOT_SUPPORTED;
}
static inline esp_err_t esp_pm_lock_acquire(esp_pm_lock_handle_t lock) { (void)lock; return ESP_OK; }
static inline esp_err_t esp_pm_lock_release(esp_pm_lock_handle_t lock) { (void)lock; return ESP_OK; }
static inline esp_err_t esp_pm_lock_delete(esp_pm_lock_handle_t lock) { (void)lock; return ESP_OK; }
static inline esp_err_t esp_pm_dump_locks(FILE *stream) { (void)stream; return ESP_OK; }

typedef struct {
    int max_freq_mhz;
    int min_freq_mhz;
    bool light_sleep_enable;
} esp_pm_config_t;
static inline esp_err_t esp_pm_configure(const void *config) { return (void)config, ESP_ERR_NOT_SUPPORTED; }
