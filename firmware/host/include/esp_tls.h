// There is no TLS: connections fail as against a server that refuses them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "esp_err.h"

#define ESP_ERR_ESP_TLS_BASE 0x8000
#define ESP_TLS_ERR_SSL_WANT_READ -0x6900
#define ESP_TLS_ERR_SSL_WANT_WRITE -0x6880
#define ESP_ERR_ESP_TLS_FAILED_CONNECT_TO_HOST (ESP_ERR_ESP_TLS_BASE + 0x04)

#ifdef __cplusplus
extern "C" {
#endif

typedef struct esp_tls esp_tls_t;
typedef struct esp_tls_last_error {
    esp_err_t last_error;
    int esp_tls_error_code;
    int esp_tls_flags;
} esp_tls_last_error_t;
typedef esp_tls_last_error_t *esp_tls_error_handle_t;

typedef struct esp_tls_cfg {
    const char **alpn_protos;
    const unsigned char *cacert_buf;
    unsigned int cacert_bytes;
    bool non_block;
    bool use_global_ca_store;
    bool skip_common_name;
    int timeout_ms;
    const char *common_name;
    esp_err_t (*crt_bundle_attach)(void *conf);
    bool is_plain_tcp;
} esp_tls_cfg_t;

typedef struct psk_key_hint {
    const uint8_t *key;
    const size_t key_size;
    const char *hint;
} psk_hint_key_t;

esp_tls_t *esp_tls_init(void);
int esp_tls_conn_new_sync(const char *hostname, int hostlen, int port, const esp_tls_cfg_t *cfg,
                          esp_tls_t *tls);
ssize_t esp_tls_conn_write(esp_tls_t *tls, const void *data, size_t length);
ssize_t esp_tls_conn_read(esp_tls_t *tls, void *data, size_t length);
int esp_tls_conn_destroy(esp_tls_t *tls);
esp_err_t esp_tls_get_conn_sockfd(esp_tls_t *tls, int *fd);
esp_err_t esp_tls_get_error_handle(esp_tls_t *tls, esp_tls_error_handle_t *out);
esp_err_t esp_tls_get_and_clear_last_error(esp_tls_error_handle_t handle, int *code, int *flags);

#ifdef __cplusplus
}
#endif
