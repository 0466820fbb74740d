#pragma once

#include <net/if.h>

#include "esp_transport.h"

#ifdef __cplusplus
extern "C" {
#endif
esp_transport_handle_t esp_transport_tcp_init(void);
void esp_transport_tcp_set_keep_alive(esp_transport_handle_t transport,
                                      esp_transport_keep_alive_t *config);
void esp_transport_tcp_set_interface_name(esp_transport_handle_t transport, struct ifreq *name);
#ifdef __cplusplus
}
#endif
