#pragma once

#include "esp_err.h"
#include "esp_log.h"

#define ESP_RETURN_ON_ERROR(x, tag, format, ...)             \
    do {                                                     \
        esp_err_t kit_rc_ = (x);                             \
        if (kit_rc_ != ESP_OK) {                             \
            ESP_LOGE(tag, format __VA_OPT__(,) __VA_ARGS__); \
            return kit_rc_;                                  \
        }                                                    \
    } while (0)
