#pragma once

#include "esp_lcd_types.h"
#include "kit_handle.h"

// What a driver of a panel fills in. Boards bring drivers of their own, and those are really called.
typedef struct esp_lcd_panel_t esp_lcd_panel_t;
struct esp_lcd_panel_t {
    esp_err_t (*reset)(esp_lcd_panel_t *panel);
    esp_err_t (*init)(esp_lcd_panel_t *panel);
    esp_err_t (*del)(esp_lcd_panel_t *panel);
    esp_err_t (*draw_bitmap)(esp_lcd_panel_t *panel, int x_start, int y_start, int x_end, int y_end,
                             const void *data);
    esp_err_t (*mirror)(esp_lcd_panel_t *panel, bool x_axis, bool y_axis);
    esp_err_t (*swap_xy)(esp_lcd_panel_t *panel, bool swap);
    esp_err_t (*set_gap)(esp_lcd_panel_t *panel, int x_gap, int y_gap);
    esp_err_t (*invert_color)(esp_lcd_panel_t *panel, bool invert);
    esp_err_t (*disp_on_off)(esp_lcd_panel_t *panel, bool on);
    esp_err_t (*disp_sleep)(esp_lcd_panel_t *panel, bool sleep);
    esp_err_t (*set_brightness)(esp_lcd_panel_t *panel, int brightness);
    void *user_data;
};
