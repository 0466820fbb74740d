// espressif/esp32-camera: what a board says of its camera. The picture is the kit's.
#pragma once

#include "driver/ledc.h"
#include "kit_handle.h"

typedef enum {
    PIXFORMAT_RGB565,
    PIXFORMAT_YUV422,
    PIXFORMAT_YUV420,
    PIXFORMAT_GRAYSCALE,
    PIXFORMAT_JPEG,
    PIXFORMAT_RGB888
} pixformat_t;
typedef enum { FRAMESIZE_96X96, FRAMESIZE_QQVGA, FRAMESIZE_QVGA, FRAMESIZE_240X240, FRAMESIZE_VGA, FRAMESIZE_SVGA, FRAMESIZE_XGA, FRAMESIZE_HD, FRAMESIZE_UXGA } framesize_t;
typedef enum { CAMERA_FB_IN_PSRAM, CAMERA_FB_IN_DRAM } camera_fb_location_t;
typedef enum { CAMERA_GRAB_WHEN_EMPTY, CAMERA_GRAB_LATEST } camera_grab_mode_t;

typedef struct {
    int pin_pwdn;
    int pin_reset;
    int pin_xclk;
    union {
        int pin_sccb_sda;
        int pin_sscb_sda;
    };
    union {
        int pin_sccb_scl;
        int pin_sscb_scl;
    };
    int pin_d7;
    int pin_d6;
    int pin_d5;
    int pin_d4;
    int pin_d3;
    int pin_d2;
    int pin_d1;
    int pin_d0;
    int pin_vsync;
    int pin_href;
    int pin_pclk;
    int xclk_freq_hz;
    ledc_timer_t ledc_timer;
    ledc_channel_t ledc_channel;
    pixformat_t pixel_format;
    framesize_t frame_size;
    int jpeg_quality;
    size_t fb_count;
    camera_fb_location_t fb_location;
    camera_grab_mode_t grab_mode;
    int sccb_i2c_port;
} camera_config_t;
typedef struct {
    uint8_t *buf;
    size_t len;
    size_t width;
    size_t height;
    pixformat_t format;
} camera_fb_t;
enum { OV2640_PID = 0x26, OV3660_PID = 0x3660, OV5640_PID = 0x5640, GC0308_PID = 0x9b, GC2145_PID = 0x2145 };

typedef struct sensor_t {
    struct {
        uint16_t PID;
    } id;
    int (*set_vflip)(struct sensor_t *sensor, int enable);
    int (*set_hmirror)(struct sensor_t *sensor, int enable);
} sensor_t;

static inline esp_err_t esp_camera_init(const camera_config_t *config) { return (void)config, ESP_OK; }
static inline esp_err_t esp_camera_deinit(void) { return ESP_OK; }
static inline sensor_t *esp_camera_sensor_get(void) { return NULL; }
static inline camera_fb_t *esp_camera_fb_get(void) { return NULL; }
static inline void esp_camera_fb_return(camera_fb_t *frame) { (void)frame; }
