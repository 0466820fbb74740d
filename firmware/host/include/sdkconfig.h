// What menuconfig would have written. Only what the sources ask for is here.
#pragma once

// newlib brings this along with other headers, and a component relies on it.
#include <stdint.h>

#define CONFIG_IDF_TARGET "esp32s3"
#define CONFIG_IDF_TARGET_ESP32S3 1
#define CONFIG_SOC_ADC_SUPPORTED 1
#define CONFIG_FREERTOS_NUMBER_OF_CORES 2
#define CONFIG_FREERTOS_HZ 1000
#define CONFIG_FREERTOS_USE_TRACE_FACILITY 1
#define CONFIG_FREERTOS_GENERATE_RUN_TIME_STATS 1
#define CONFIG_LOG_DEFAULT_LEVEL 3

#ifndef CONFIG_OTA_URL
#define CONFIG_OTA_URL "https://api.tenclass.net/xiaozhi/ota/"
#endif
#define CONFIG_LANGUAGE_EN_US 1
#define CONFIG_LV_USE_SNAPSHOT 1

#define CONFIG_MQTT_PROTOCOL_311 1
#define CONFIG_MQTT_TRANSPORT_SSL 1
#define CONFIG_MQTT_BUFFER_SIZE 1024
#define CONFIG_MQTT_TASK_PRIORITY 5

// What the board's own config.json says.
#if __has_include("kit_board_config.h")
#include "kit_board_config.h"
#endif
