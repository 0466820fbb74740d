#pragma once
#include "esp_lcd_panel_sh1106.h"
