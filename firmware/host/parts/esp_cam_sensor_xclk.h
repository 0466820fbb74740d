// espressif/esp_cam_sensor: the clock of a camera.
#pragma once

#include "driver/gpio.h"
#include "kit_handle.h"

typedef enum { ESP_CAM_SENSOR_XCLK_LEDC, ESP_CAM_SENSOR_XCLK_ESP_CLOCK_ROUTER } esp_cam_sensor_xclk_source_t;
typedef struct kit_camera_clock *esp_cam_sensor_xclk_handle_t;
typedef struct {
    union {
        struct {
            int timer;
            int clk_cfg;
            int channel;
            uint32_t xclk_freq_hz;
            gpio_num_t xclk_pin;
        } ledc_cfg;
        struct {
            gpio_num_t xclk_pin;
            uint32_t xclk_freq_hz;
        } esp_clock_router_cfg;
    };
} esp_cam_sensor_xclk_config_t;

static inline esp_err_t esp_cam_sensor_xclk_allocate(esp_cam_sensor_xclk_source_t source,
                                                     esp_cam_sensor_xclk_handle_t *out) {
    return (void)source, KIT_NEW(out);
}
static inline esp_err_t esp_cam_sensor_xclk_start(esp_cam_sensor_xclk_handle_t handle,
                                                  const esp_cam_sensor_xclk_config_t *config) {
    return (void)handle, (void)config, ESP_OK;
}
static inline esp_err_t esp_cam_sensor_xclk_stop(esp_cam_sensor_xclk_handle_t handle) {
    return (void)handle, ESP_OK;
}
