// espressif/esp_video: what a board says of its camera. The picture is the kit's.
#pragma once

#include <stdbool.h>

#include "driver/gpio.h"
#include "driver/i2c_types.h"
#include "kit_handle.h"

#define CAM_CTLR_DATA_WIDTH_8 8
#define CAM_CTLR_DVP_DATA_SIG_NUM 8
typedef int cam_ctlr_data_width_t;
typedef uint32_t v4l2_pix_fmt_t;

typedef struct {
    cam_ctlr_data_width_t data_width;
    gpio_num_t data_io[CAM_CTLR_DVP_DATA_SIG_NUM];
    gpio_num_t vsync_io;
    gpio_num_t de_io;
    gpio_num_t pclk_io;
    gpio_num_t xclk_io;
} esp_cam_ctlr_dvp_pin_config_t;
typedef struct {
    bool init_sccb;
    union {
        struct {
            uint8_t port;
            gpio_num_t scl_pin;
            gpio_num_t sda_pin;
        } i2c_config;
        i2c_master_bus_handle_t i2c_handle;
    };
    uint32_t freq;
} esp_video_init_sccb_config_t;
typedef struct {
    esp_video_init_sccb_config_t sccb_config;
    gpio_num_t reset_pin;
    gpio_num_t pwdn_pin;
    bool dont_init_ldo;
} esp_video_init_csi_config_t;
typedef struct {
    esp_video_init_sccb_config_t sccb_config;
    gpio_num_t reset_pin;
    gpio_num_t pwdn_pin;
    esp_cam_ctlr_dvp_pin_config_t dvp_pin;
    uint32_t xclk_freq;
} esp_video_init_dvp_config_t;
typedef struct {
    uint8_t uvc_dev_num;
    uint32_t task_stack;
    uint8_t task_priority;
    int task_affinity;
} esp_video_init_uvc_config_t;
typedef struct {
    struct {
        uint8_t uvc_dev_num;
        uint32_t task_stack;
        uint8_t task_priority;
        int task_affinity;
    } uvc;
    struct {
        bool init_usb_host_lib;
        uint32_t task_stack;
        uint8_t task_priority;
        int task_affinity;
    } usb;
} esp_video_init_usb_uvc_config_t;
typedef struct {
    const esp_video_init_csi_config_t *csi;
    const esp_video_init_dvp_config_t *dvp;
    const void *jpeg;
    const void *isp;
    const esp_video_init_usb_uvc_config_t *usb_uvc;
} esp_video_init_config_t;

static inline esp_err_t esp_video_init(const esp_video_init_config_t *config) { return (void)config, ESP_OK; }
static inline esp_err_t esp_video_deinit(void) { return ESP_OK; }
