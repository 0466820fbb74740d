// Only for MQTT clients that are configured with a URI, which this firmware does not do.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum http_parser_url_fields { UF_SCHEMA, UF_HOST, UF_PORT, UF_PATH, UF_QUERY, UF_FRAGMENT, UF_USERINFO, UF_MAX };

struct http_parser_url {
    uint16_t field_set;
    uint16_t port;
    struct {
        uint16_t off;
        uint16_t len;
    } field_data[UF_MAX];
};

static inline void http_parser_url_init(struct http_parser_url *url) {
    *url = (struct http_parser_url){0};
}

static inline int http_parser_parse_url(const char *text, size_t length, int is_connect,
                                        struct http_parser_url *url) {
    (void)text, (void)length, (void)is_connect, (void)url;
    return 1;
}
