// The network is the host's: its radio saves no power, and finds nobody.
#pragma once

#include <stdbool.h>

#include "esp_err.h"
#include "esp_event.h"
#include "esp_mac.h"

typedef enum { WIFI_PS_NONE, WIFI_PS_MIN_MODEM, WIFI_PS_MAX_MODEM } wifi_ps_type_t;
typedef enum { WIFI_MODE_NULL, WIFI_MODE_STA, WIFI_MODE_AP, WIFI_MODE_APSTA } wifi_mode_t;
typedef enum { WIFI_IF_STA, WIFI_IF_AP } wifi_interface_t;

static inline esp_err_t esp_wifi_set_ps(wifi_ps_type_t type) { return (void)type, ESP_OK; }
static inline esp_err_t esp_wifi_get_mode(wifi_mode_t *mode) { return *mode = WIFI_MODE_STA, ESP_OK; }
static inline esp_err_t esp_wifi_get_mac(wifi_interface_t side, uint8_t *mac) {
    return esp_read_mac(mac, side == WIFI_IF_AP ? ESP_MAC_WIFI_SOFTAP : ESP_MAC_WIFI_STA);
}
