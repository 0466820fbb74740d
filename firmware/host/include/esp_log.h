#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "esp_err.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ESP_LOG_NONE,
    ESP_LOG_ERROR,
    ESP_LOG_WARN,
    ESP_LOG_INFO,
    ESP_LOG_DEBUG,
    ESP_LOG_VERBOSE
} esp_log_level_t;

void kit_log(esp_log_level_t level, const char *tag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint32_t esp_log_timestamp(void);
void esp_log_level_set(const char *tag, esp_log_level_t level);
esp_log_level_t esp_log_level_get(const char *tag);

#ifdef __cplusplus
}
#endif

// Debug and verbose lines are compiled, so that their arguments count as used, and never printed.
#define ESP_LOGE(tag, ...) kit_log(ESP_LOG_ERROR, tag, __VA_ARGS__)
#define ESP_LOGW(tag, ...) kit_log(ESP_LOG_WARN, tag, __VA_ARGS__)
#define ESP_LOGI(tag, ...) kit_log(ESP_LOG_INFO, tag, __VA_ARGS__)
#define ESP_LOGD(tag, ...) do { if (0) kit_log(ESP_LOG_DEBUG, tag, __VA_ARGS__); } while (0)
#define ESP_LOGV(tag, ...) do { if (0) kit_log(ESP_LOG_VERBOSE, tag, __VA_ARGS__); } while (0)
#define ESP_EARLY_LOGE ESP_LOGE
#define ESP_EARLY_LOGW ESP_LOGW
#define ESP_EARLY_LOGI ESP_LOGI
#define ESP_LOG_LEVEL(level, tag, ...) kit_log(level, tag, __VA_ARGS__)
#define ESP_LOG_BUFFER_HEX(tag, buffer, length) do { (void)(buffer); (void)(length); } while (0)
#define ESP_LOG_BUFFER_HEXDUMP(tag, buffer, length, level) do { (void)(buffer); (void)(length); } while (0)
#define ESP_LOG_BUFFER_HEX_LEVEL(tag, buffer, length, level) do { (void)(buffer); (void)(length); } while (0)
