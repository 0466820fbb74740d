// espressif/button: nobody presses. The kit's own button starts conversations: src/button.cc.
#pragma once

#include <stdbool.h>

#include "driver/gpio.h"
#include "kit_handle.h"

enum { BUTTON_INACTIVE, BUTTON_ACTIVE };
typedef struct kit_button *button_handle_t;
typedef void (*button_cb_t)(void *button, void *user_data);

typedef enum {
    BUTTON_PRESS_DOWN,
    BUTTON_PRESS_UP,
    BUTTON_PRESS_REPEAT,
    BUTTON_PRESS_REPEAT_DONE,
    BUTTON_SINGLE_CLICK,
    BUTTON_DOUBLE_CLICK,
    BUTTON_MULTIPLE_CLICK,
    BUTTON_LONG_PRESS_START,
    BUTTON_LONG_PRESS_HOLD,
    BUTTON_LONG_PRESS_UP,
    BUTTON_PRESS_END,
    BUTTON_EVENT_MAX,
    BUTTON_NONE_PRESS
} button_event_t;
typedef union {
    struct {
        uint16_t press_time;
    } long_press;
    struct {
        uint16_t clicks;
    } multiple_clicks;
} button_event_args_t;
typedef struct {
    uint16_t long_press_time;
    uint16_t short_press_time;
} button_config_t;

typedef struct button_driver_t button_driver_t;
struct button_driver_t {
    bool enable_power_save;
    uint8_t (*get_key_level)(button_driver_t *driver);
    esp_err_t (*enter_power_save)(button_driver_t *driver);
    esp_err_t (*del)(button_driver_t *driver);
};
