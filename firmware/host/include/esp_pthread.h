#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "esp_err.h"
#include "freertos/FreeRTOS.h"

typedef struct {
    size_t stack_size;
    size_t prio;
    bool inherit_cfg;
    const char *thread_name;
    int pin_to_core;
    uint32_t stack_alloc_caps;
} esp_pthread_cfg_t;

#ifdef __cplusplus
extern "C" {
#endif
// Threads that the firmware creates with std::thread have the host's own stacks.
esp_pthread_cfg_t esp_pthread_get_default_config(void);
esp_err_t esp_pthread_set_cfg(const esp_pthread_cfg_t *cfg);
#ifdef __cplusplus
}
#endif
