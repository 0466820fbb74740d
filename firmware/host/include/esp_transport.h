#pragma once

#include <stdbool.h>

#include "esp_err.h"
#include "esp_tls.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct esp_transport_item_t *esp_transport_handle_t;
typedef struct esp_transport_internal *esp_transport_list_handle_t;

typedef struct esp_transport_keepalive {
    bool keep_alive_enable;
    int keep_alive_idle;
    int keep_alive_interval;
    int keep_alive_count;
} esp_transport_keep_alive_t;

enum esp_tcp_transport_err_t {
    ERR_TCP_TRANSPORT_NO_MEM = -3,
    ERR_TCP_TRANSPORT_CONNECTION_FAILED = -2,
    ERR_TCP_TRANSPORT_CONNECTION_CLOSED_BY_FIN = -1,
    ERR_TCP_TRANSPORT_CONNECTION_TIMEOUT = 0,
};

esp_transport_list_handle_t esp_transport_list_init(void);
esp_err_t esp_transport_list_destroy(esp_transport_list_handle_t list);
esp_err_t esp_transport_list_add(esp_transport_list_handle_t list, esp_transport_handle_t transport,
                                 const char *scheme);
esp_transport_handle_t esp_transport_list_get_transport(esp_transport_list_handle_t list,
                                                        const char *scheme);
esp_err_t esp_transport_destroy(esp_transport_handle_t transport);
int esp_transport_get_default_port(esp_transport_handle_t transport);
esp_err_t esp_transport_set_default_port(esp_transport_handle_t transport, int port);
int esp_transport_connect(esp_transport_handle_t transport, const char *host, int port,
                          int timeout_ms);
int esp_transport_read(esp_transport_handle_t transport, char *buffer, int length, int timeout_ms);
int esp_transport_write(esp_transport_handle_t transport, const char *buffer, int length,
                        int timeout_ms);
int esp_transport_poll_read(esp_transport_handle_t transport, int timeout_ms);
int esp_transport_close(esp_transport_handle_t transport);
esp_tls_error_handle_t esp_transport_get_error_handle(esp_transport_handle_t transport);
int esp_transport_get_errno(esp_transport_handle_t transport);

#ifdef __cplusplus
}
#endif
