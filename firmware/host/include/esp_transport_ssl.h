#pragma once

#include "esp_transport.h"

struct ifreq;

#ifdef __cplusplus
extern "C" {
#endif
esp_transport_handle_t esp_transport_ssl_init(void);
#ifdef __cplusplus
}
#endif

// A transport that never connects takes any setting.
#define esp_transport_ssl_enable_global_ca_store(t) ((void)(t))
#define esp_transport_ssl_crt_bundle_attach(t, attach) ((void)(t), (void)(attach))
#define esp_transport_ssl_set_ciphersuites_list(t, list) ((void)(t), (void)(list))
#define esp_transport_ssl_set_psk_key_hint(t, hint) ((void)(t), (void)(hint))
#define esp_transport_ssl_set_alpn_protocol(t, alpn) ((void)(t), (void)(alpn))
#define esp_transport_ssl_skip_common_name_check(t) ((void)(t))
#define esp_transport_ssl_set_common_name(t, name) ((void)(t), (void)(name))
#define esp_transport_ssl_set_ds_data(t, data) ((void)(t), (void)(data))
#define esp_transport_ssl_set_interface_name(t, name) ((void)(t), (void)(name))
#define esp_transport_ssl_set_cert_data(t, data, len) ((void)(t), (void)(data), (void)(len))
#define esp_transport_ssl_set_cert_data_der(t, data, len) ((void)(t), (void)(data), (void)(len))
#define esp_transport_ssl_set_client_cert_data(t, data, len) ((void)(t), (void)(data), (void)(len))
#define esp_transport_ssl_set_client_cert_data_der(t, data, len) ((void)(t), (void)(data), (void)(len))
#define esp_transport_ssl_set_client_key_data(t, data, len) ((void)(t), (void)(data), (void)(len))
#define esp_transport_ssl_set_client_key_data_der(t, data, len) ((void)(t), (void)(data), (void)(len))
#define esp_transport_ssl_set_client_key_password(t, data, len) ((void)(t), (void)(data), (void)(len))
