#pragma once

#include <driver/gpio.h>

// Which lamp it has is a choice of its config.json.
#if CONFIG_OWN_BOARD_LAMP
#define LAMP_PIN GPIO_NUM_18
#else
#error "config.json does not say which lamp there is"
#endif
