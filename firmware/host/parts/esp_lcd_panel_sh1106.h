// esp_lcd_sh1106, a driver of panels
#pragma once

#include "esp_lcd_panel_vendor.h"

typedef esp_lcd_panel_ssd1306_config_t esp_lcd_panel_sh1106_config_t;
KIT_PANEL_FUNCTION(sh1106)
