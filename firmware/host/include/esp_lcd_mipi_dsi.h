#pragma once

#include "esp_lcd_panel_io.h"
#include "kit_panel.h"

typedef struct kit_dsi_bus *esp_lcd_dsi_bus_handle_t;
typedef enum { MIPI_DSI_PHY_CLK_SRC_DEFAULT, MIPI_DSI_PHY_PLLREF_CLK_SRC_DEFAULT = 0 } mipi_dsi_phy_pllref_clock_source_t;
typedef enum { MIPI_DSI_DPI_CLK_SRC_DEFAULT } mipi_dsi_dpi_clock_source_t;

typedef struct {
    int bus_id;
    uint8_t num_data_lanes;
    mipi_dsi_phy_pllref_clock_source_t phy_clk_src;
    uint32_t lane_bit_rate_mbps;
} esp_lcd_dsi_bus_config_t;

typedef struct {
    uint8_t virtual_channel;
    int lcd_cmd_bits;
    int lcd_param_bits;
} esp_lcd_dbi_io_config_t;

typedef struct {
    uint8_t virtual_channel;
    mipi_dsi_dpi_clock_source_t dpi_clk_src;
    uint32_t dpi_clock_freq_mhz;
#if KIT_IDF_5
    lcd_color_rgb_pixel_format_t pixel_format;
#endif
    lcd_color_format_t in_color_format;
    lcd_color_format_t out_color_format;
    uint8_t num_fbs;
    esp_lcd_video_timing_t video_timing;
    struct {
        uint32_t use_dma2d : 1;
        uint32_t disable_lp : 1;
    } flags;
} esp_lcd_dpi_panel_config_t;

typedef struct {
    int nothing;
} esp_lcd_dpi_panel_event_data_t;
typedef bool (*esp_lcd_dpi_panel_color_trans_done_cb_t)(esp_lcd_panel_handle_t panel,
                                                        esp_lcd_dpi_panel_event_data_t *data,
                                                        void *user_ctx);
typedef struct {
    esp_lcd_dpi_panel_color_trans_done_cb_t on_color_trans_done;
    esp_lcd_dpi_panel_color_trans_done_cb_t on_refresh_done;
} esp_lcd_dpi_panel_event_callbacks_t;

static inline esp_err_t esp_lcd_new_dsi_bus(const esp_lcd_dsi_bus_config_t *config,
                                            esp_lcd_dsi_bus_handle_t *out) {
    return (void)config, KIT_NEW(out);
}
static inline esp_err_t esp_lcd_del_dsi_bus(esp_lcd_dsi_bus_handle_t bus) { return (void)bus, ESP_OK; }
static inline esp_err_t esp_lcd_new_panel_io_dbi(esp_lcd_dsi_bus_handle_t bus,
                                                 const esp_lcd_dbi_io_config_t *config,
                                                 esp_lcd_panel_io_handle_t *out) {
    return (void)bus, (void)config, KIT_NEW(out);
}
static inline esp_err_t esp_lcd_new_panel_dpi(esp_lcd_dsi_bus_handle_t bus,
                                              const esp_lcd_dpi_panel_config_t *config,
                                              esp_lcd_panel_handle_t *out) {
    return (void)bus, (void)config, kit_new_panel(out);
}
static inline esp_err_t esp_lcd_dpi_panel_enable_dma2d(esp_lcd_panel_handle_t panel) {
    return (void)panel, ESP_OK;
}
static inline esp_err_t esp_lcd_dpi_panel_register_event_callbacks(
    esp_lcd_panel_handle_t panel, const esp_lcd_dpi_panel_event_callbacks_t *callbacks, void *user_ctx) {
    return (void)panel, (void)callbacks, (void)user_ctx, ESP_OK;
}

// What the drivers' macros of a panel with two lanes give.
#define KIT_PANEL_DSI_BUS { .bus_id = 0, .num_data_lanes = 2, .lane_bit_rate_mbps = 1000 }
#define KIT_PANEL_DBI_IO { .virtual_channel = 0, .lcd_cmd_bits = 8, .lcd_param_bits = 8 }
