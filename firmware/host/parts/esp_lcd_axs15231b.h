// esp_lcd_axs15231b, a driver of panels
#pragma once

#include "esp_lcd_touch.h"
#include "kit_panel.h"

KIT_PANEL_DRIVER(axs15231b)
#define AXS15231B_PANEL_BUS_QSPI_CONFIG(clock, d0, d1, d2, d3, size) KIT_PANEL_QSPI_BUS(clock, d0, d1, d2, d3, size)
#define AXS15231B_PANEL_IO_QSPI_CONFIG(cs, callback, context) KIT_PANEL_QSPI_IO(cs, callback, context)
KIT_TOUCH(axs15231b)
#define ESP_LCD_TOUCH_IO_I2C_AXS15231B_ADDRESS 0x3B
#define ESP_LCD_TOUCH_IO_I2C_AXS15231B_CONFIG() KIT_TOUCH_IO(0x3B)
