#pragma once

#include "kit_handle.h"

typedef struct kit_temperature_sensor *temperature_sensor_handle_t;
typedef enum { TEMPERATURE_SENSOR_CLK_SRC_DEFAULT } temperature_sensor_clk_src_t;
typedef struct {
    int range_min;
    int range_max;
    temperature_sensor_clk_src_t clk_src;
    struct {
        uint32_t allow_pd;
    } flags;
} temperature_sensor_config_t;
#define TEMPERATURE_SENSOR_CONFIG_DEFAULT(min, max) \
    { .range_min = (min), .range_max = (max), .clk_src = TEMPERATURE_SENSOR_CLK_SRC_DEFAULT, .flags = { .allow_pd = 0 } }

static inline esp_err_t temperature_sensor_install(const temperature_sensor_config_t *config,
                                                   temperature_sensor_handle_t *out) {
    return (void)config, KIT_NEW(out);
}
static inline esp_err_t temperature_sensor_uninstall(temperature_sensor_handle_t sensor) {
    return (void)sensor, ESP_OK;
}
static inline esp_err_t temperature_sensor_enable(temperature_sensor_handle_t sensor) {
    return (void)sensor, ESP_OK;
}
static inline esp_err_t temperature_sensor_disable(temperature_sensor_handle_t sensor) {
    return (void)sensor, ESP_OK;
}
static inline esp_err_t temperature_sensor_get_celsius(temperature_sensor_handle_t sensor, float *out) {
    *out = 40.0F;
    return (void)sensor, ESP_OK;
}
