#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "driver/gpio.h"
#include "kit_handle.h"

typedef struct esp_lcd_panel_io_t *esp_lcd_panel_io_handle_t;
typedef struct esp_lcd_panel_t *esp_lcd_panel_handle_t;
typedef enum { LCD_RGB_ELEMENT_ORDER_RGB, LCD_RGB_ELEMENT_ORDER_BGR } lcd_rgb_element_order_t;
typedef lcd_rgb_element_order_t esp_lcd_color_space_t;
#define ESP_LCD_COLOR_SPACE_RGB LCD_RGB_ELEMENT_ORDER_RGB
#define ESP_LCD_COLOR_SPACE_BGR LCD_RGB_ELEMENT_ORDER_BGR
#define COLOR_RGB_ELEMENT_ORDER_RGB LCD_RGB_ELEMENT_ORDER_RGB
#define COLOR_RGB_ELEMENT_ORDER_BGR LCD_RGB_ELEMENT_ORDER_BGR
typedef enum { LCD_RGB_DATA_ENDIAN_BIG, LCD_RGB_DATA_ENDIAN_LITTLE } lcd_rgb_data_endian_t;
typedef enum {
    LCD_COLOR_FMT_RGB565 = 1,
    LCD_COLOR_FMT_RGB666,
    LCD_COLOR_FMT_RGB888,
    LCD_COLOR_PIXEL_FORMAT_RGB565 = 1,
    LCD_COLOR_PIXEL_FORMAT_RGB666,
    LCD_COLOR_PIXEL_FORMAT_RGB888
} lcd_color_format_t;
typedef lcd_color_format_t lcd_color_rgb_pixel_format_t;
typedef enum { LCD_CLK_SRC_DEFAULT, LCD_CLK_SRC_PLL160M, LCD_CLK_SRC_PLL240M } lcd_clock_source_t;

typedef struct {
    uint32_t h_size;
    uint32_t v_size;
    uint32_t hsync_pulse_width;
    uint32_t hsync_back_porch;
    uint32_t hsync_front_porch;
    uint32_t vsync_pulse_width;
    uint32_t vsync_back_porch;
    uint32_t vsync_front_porch;
} esp_lcd_video_timing_t;

typedef struct {
    int nothing;
} esp_lcd_panel_io_event_data_t;
typedef bool (*esp_lcd_panel_io_color_trans_done_cb_t)(esp_lcd_panel_io_handle_t io,
                                                       esp_lcd_panel_io_event_data_t *data,
                                                       void *user_ctx);
typedef struct {
    esp_lcd_panel_io_color_trans_done_cb_t on_color_trans_done;
} esp_lcd_panel_io_callbacks_t;
