#pragma once

#include "esp_lcd_panel_interface.h"

// A panel of the kit has next to no functions, and takes everything.
#define KIT_PANEL(function, ...) \
    return panel != NULL && panel->function != NULL ? panel->function(__VA_ARGS__) : ESP_OK

static inline esp_err_t esp_lcd_panel_reset(esp_lcd_panel_handle_t panel) { KIT_PANEL(reset, panel); }
static inline esp_err_t esp_lcd_panel_init(esp_lcd_panel_handle_t panel) { KIT_PANEL(init, panel); }
static inline esp_err_t esp_lcd_panel_del(esp_lcd_panel_handle_t panel) { KIT_PANEL(del, panel); }
static inline esp_err_t esp_lcd_panel_draw_bitmap(esp_lcd_panel_handle_t panel, int x_start, int y_start,
                                                  int x_end, int y_end, const void *data) {
    KIT_PANEL(draw_bitmap, panel, x_start, y_start, x_end, y_end, data);
}
static inline esp_err_t esp_lcd_panel_mirror(esp_lcd_panel_handle_t panel, bool x, bool y) {
    KIT_PANEL(mirror, panel, x, y);
}
static inline esp_err_t esp_lcd_panel_swap_xy(esp_lcd_panel_handle_t panel, bool swap) {
    KIT_PANEL(swap_xy, panel, swap);
}
static inline esp_err_t esp_lcd_panel_set_gap(esp_lcd_panel_handle_t panel, int x, int y) {
    KIT_PANEL(set_gap, panel, x, y);
}
static inline esp_err_t esp_lcd_panel_invert_color(esp_lcd_panel_handle_t panel, bool invert) {
    KIT_PANEL(invert_color, panel, invert);
}
static inline esp_err_t esp_lcd_panel_disp_on_off(esp_lcd_panel_handle_t panel, bool on) {
    KIT_PANEL(disp_on_off, panel, on);
}
static inline esp_err_t esp_lcd_panel_disp_sleep(esp_lcd_panel_handle_t panel, bool sleep) {
    KIT_PANEL(disp_sleep, panel, sleep);
}
#undef KIT_PANEL
