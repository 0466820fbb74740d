#pragma once

#include "kit_panel.h"

typedef struct {
    uint8_t height;
} esp_lcd_panel_ssd1306_config_t;

KIT_PANEL_FUNCTION(st7789)
KIT_PANEL_FUNCTION(nt35510)
KIT_PANEL_FUNCTION(ssd1306)
