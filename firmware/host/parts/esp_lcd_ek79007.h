// esp_lcd_ek79007, a driver of panels
#pragma once

#include "esp_lcd_mipi_dsi.h"

KIT_PANEL_DRIVER(ek79007)
#define EK79007_PANEL_BUS_DSI_2CH_CONFIG() KIT_PANEL_DSI_BUS
#define EK79007_PANEL_IO_DBI_CONFIG() KIT_PANEL_DBI_IO
#define EK79007_1024_600_PANEL_60HZ_CONFIG_CF(format) \
    { .dpi_clock_freq_mhz = 52, .in_color_format = (format), .num_fbs = 1 }
#define EK79007_1024_600_PANEL_60HZ_CONFIG(format) \
    { .dpi_clock_freq_mhz = 52, .in_color_format = (lcd_color_format_t)(format), .num_fbs = 1 }
