#pragma once
#include "esp_efuse.h"

#define ESP_EFUSE_VDD_SPI_AS_GPIO NULL
