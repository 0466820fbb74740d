// There is no web server of the device's own on this host: what a board asks of one fails, and the
// board goes on without it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "esp_err.h"
#include "http_parser.h"

typedef void *httpd_handle_t;

typedef struct {
    httpd_handle_t handle;
    int method;
    char uri[513];
    size_t content_len;
    void *user_ctx;
} httpd_req_t;

typedef struct {
    const char *uri;
    int method;
    esp_err_t (*handler)(httpd_req_t *request);
    void *user_ctx;
    bool is_websocket;
} httpd_uri_t;

typedef struct {
    size_t stack_size;
    uint16_t server_port;
    uint16_t ctrl_port;
    uint16_t max_open_sockets;
    uint16_t max_uri_handlers;
} httpd_config_t;
#define HTTPD_DEFAULT_CONFIG() \
    { .stack_size = 4096, .server_port = 80, .ctrl_port = 32768, .max_open_sockets = 7, .max_uri_handlers = 8 }

typedef enum {
    HTTPD_WS_TYPE_CONTINUE = 0,
    HTTPD_WS_TYPE_TEXT = 1,
    HTTPD_WS_TYPE_BINARY = 2,
    HTTPD_WS_TYPE_CLOSE = 8,
    HTTPD_WS_TYPE_PING = 9,
    HTTPD_WS_TYPE_PONG = 10
} httpd_ws_type_t;

typedef struct {
    bool final;
    bool fragmented;
    httpd_ws_type_t type;
    uint8_t *payload;
    size_t len;
} httpd_ws_frame_t;

static inline esp_err_t httpd_start(httpd_handle_t *out, const httpd_config_t *config) {
    return (void)config, *out = NULL, ESP_FAIL;
}
static inline esp_err_t httpd_stop(httpd_handle_t server) { return (void)server, ESP_OK; }
static inline esp_err_t httpd_register_uri_handler(httpd_handle_t server, const httpd_uri_t *uri) {
    return (void)server, (void)uri, ESP_FAIL;
}
static inline esp_err_t httpd_queue_work(httpd_handle_t server, void (*work)(void *), void *argument) {
    return (void)server, (void)work, (void)argument, ESP_FAIL;
}
static inline int httpd_req_to_sockfd(httpd_req_t *request) { return (void)request, -1; }
static inline esp_err_t httpd_ws_recv_frame(httpd_req_t *request, httpd_ws_frame_t *frame, size_t size) {
    return (void)request, (void)frame, (void)size, ESP_FAIL;
}
static inline esp_err_t httpd_ws_send_frame_async(httpd_handle_t server, int socket, httpd_ws_frame_t *frame) {
    return (void)server, (void)socket, (void)frame, ESP_FAIL;
}
