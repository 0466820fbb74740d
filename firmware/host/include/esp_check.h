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

#define ESP_RETURN_ON_FALSE(condition, code, tag, format, ...) \
    do {                                                       \
        if (!(condition)) {                                    \
            ESP_LOGE(tag, format __VA_OPT__(,) __VA_ARGS__);   \
            return code;                                       \
        }                                                      \
    } while (0)

// These two expect a variable `ret` and a label.
#define ESP_GOTO_ON_ERROR(x, label, tag, format, ...)        \
    do {                                                     \
        esp_err_t kit_rc_ = (x);                             \
        if (kit_rc_ != ESP_OK) {                             \
            ESP_LOGE(tag, format __VA_OPT__(,) __VA_ARGS__); \
            ret = kit_rc_;                                   \
            goto label;                                      \
        }                                                    \
    } while (0)

#define ESP_GOTO_ON_FALSE(condition, code, label, tag, format, ...) \
    do {                                                            \
        if (!(condition)) {                                         \
            ESP_LOGE(tag, format __VA_OPT__(,) __VA_ARGS__);        \
            ret = code;                                             \
            goto label;                                             \
        }                                                           \
    } while (0)
