#pragma once

#include <stddef.h>

#define MBEDTLS_ERR_BASE64_BUFFER_TOO_SMALL -0x002A
#define MBEDTLS_ERR_BASE64_INVALID_CHARACTER -0x002C

#ifdef __cplusplus
extern "C" {
#endif
int mbedtls_base64_encode(unsigned char *out, size_t size, size_t *length, const unsigned char *in,
                          size_t in_length);
int mbedtls_base64_decode(unsigned char *out, size_t size, size_t *length, const unsigned char *in,
                          size_t in_length);
#ifdef __cplusplus
}
#endif
