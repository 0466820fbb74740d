// espressif/adc_battery_estimation: a battery that is nearly full, and is charged by nobody.
#pragma once

#include <stdbool.h>

#include "esp_adc/adc_oneshot.h"

typedef void *adc_battery_estimation_handle_t;
typedef struct {
    float voltage;
    float capacity;
} battery_point_t;
typedef struct {
    union {
        struct {
            adc_oneshot_unit_handle_t adc_handle;
            void *adc_cali_handle;
        } external;
        struct {
            adc_unit_t adc_unit;
            adc_bitwidth_t adc_bitwidth;
            adc_atten_t adc_atten;
        } internal;
    };
    adc_channel_t adc_channel;
    float upper_resistor;
    float lower_resistor;
    const battery_point_t *battery_points;
    size_t battery_points_count;
    bool (*charging_detect_cb)(void *user_data);
    void *charging_detect_user_data;
} adc_battery_estimation_t;

static inline adc_battery_estimation_handle_t adc_battery_estimation_create(adc_battery_estimation_t *config) {
    return (void)config, kit_handle();
}
static inline esp_err_t adc_battery_estimation_destroy(adc_battery_estimation_handle_t handle) {
    return (void)handle, ESP_OK;
}
static inline esp_err_t adc_battery_estimation_get_capacity(adc_battery_estimation_handle_t handle,
                                                            float *capacity) {
    *capacity = 90.0F;
    return (void)handle, ESP_OK;
}
static inline esp_err_t adc_battery_estimation_get_charging_state(adc_battery_estimation_handle_t handle,
                                                                  bool *charging) {
    *charging = false;
    return (void)handle, ESP_OK;
}
