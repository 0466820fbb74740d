#pragma once

#include <stddef.h>
#include <stdint.h>

#define MBEDTLS_AES_ENCRYPT 1
#define MBEDTLS_AES_DECRYPT 0

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mbedtls_aes_context {
    uint8_t round_keys[240];
    int rounds;
} mbedtls_aes_context;

// Only what counter mode needs: encryption of blocks.
void mbedtls_aes_init(mbedtls_aes_context *context);
void mbedtls_aes_free(mbedtls_aes_context *context);
int mbedtls_aes_setkey_enc(mbedtls_aes_context *context, const unsigned char *key,
                           unsigned int bits);
int mbedtls_aes_crypt_ctr(mbedtls_aes_context *context, size_t length, size_t *offset,
                          unsigned char counter[16], unsigned char stream[16],
                          const unsigned char *in, unsigned char *out);

#ifdef __cplusplus
}
#endif
