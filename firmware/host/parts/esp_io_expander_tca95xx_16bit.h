// espressif/esp_io_expander_tca95xx_16bit
#pragma once

#include "esp_io_expander.h"

KIT_IO_EXPANDER(tca95xx_16bit)
#define ESP_IO_EXPANDER_I2C_TCA9555_ADDRESS_000 0x20
#define ESP_IO_EXPANDER_I2C_TCA9555_ADDRESS_001 0x21
#define ESP_IO_EXPANDER_I2C_TCA9539_ADDRESS_00 0x74
