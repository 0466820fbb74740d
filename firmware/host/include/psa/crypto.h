// AES in counter mode through the PSA interface; other keys and modes are not supported.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "mbedtls/aes.h"

typedef int32_t psa_status_t;
typedef uint32_t psa_key_id_t;
typedef uint32_t psa_algorithm_t;
typedef uint16_t psa_key_type_t;
typedef uint32_t psa_key_usage_t;

#define PSA_SUCCESS ((psa_status_t)0)
#define PSA_ERROR_NOT_SUPPORTED ((psa_status_t)-134)
#define PSA_ERROR_INVALID_ARGUMENT ((psa_status_t)-135)
#define PSA_ERROR_INVALID_HANDLE ((psa_status_t)-136)
#define PSA_ERROR_BAD_STATE ((psa_status_t)-137)
#define PSA_ERROR_INSUFFICIENT_MEMORY ((psa_status_t)-141)
#define PSA_KEY_ID_NULL ((psa_key_id_t)0)
#define PSA_KEY_USAGE_ENCRYPT ((psa_key_usage_t)0x100)
#define PSA_KEY_USAGE_DECRYPT ((psa_key_usage_t)0x200)
#define PSA_ALG_CTR ((psa_algorithm_t)0x04c01000)
#define PSA_KEY_TYPE_AES ((psa_key_type_t)0x2400)

typedef struct {
    psa_key_usage_t usage;
    psa_algorithm_t algorithm;
    psa_key_type_t type;
    size_t bits;
} psa_key_attributes_t;
#define PSA_KEY_ATTRIBUTES_INIT {0, 0, 0, 0}

typedef struct {
    mbedtls_aes_context aes;
    uint8_t counter[16];
    uint8_t stream[16];
    size_t offset;
    int state;
} psa_cipher_operation_t;
#define PSA_CIPHER_OPERATION_INIT {}

#ifdef __cplusplus
extern "C" {
#endif

psa_status_t psa_crypto_init(void);
psa_status_t psa_import_key(const psa_key_attributes_t *attributes, const uint8_t *data,
                            size_t length, psa_key_id_t *key);
psa_status_t psa_destroy_key(psa_key_id_t key);
psa_status_t psa_cipher_encrypt_setup(psa_cipher_operation_t *operation, psa_key_id_t key,
                                      psa_algorithm_t algorithm);
psa_status_t psa_cipher_decrypt_setup(psa_cipher_operation_t *operation, psa_key_id_t key,
                                      psa_algorithm_t algorithm);
psa_status_t psa_cipher_set_iv(psa_cipher_operation_t *operation, const uint8_t *iv, size_t length);
psa_status_t psa_cipher_update(psa_cipher_operation_t *operation, const uint8_t *in, size_t length,
                               uint8_t *out, size_t size, size_t *out_length);
psa_status_t psa_cipher_finish(psa_cipher_operation_t *operation, uint8_t *out, size_t size,
                               size_t *out_length);
psa_status_t psa_cipher_abort(psa_cipher_operation_t *operation);

#ifdef __cplusplus
}
#endif

static inline void psa_set_key_usage_flags(psa_key_attributes_t *a, psa_key_usage_t usage) { a->usage = usage; }
static inline void psa_set_key_algorithm(psa_key_attributes_t *a, psa_algorithm_t alg) { a->algorithm = alg; }
static inline void psa_set_key_type(psa_key_attributes_t *a, psa_key_type_t type) { a->type = type; }
static inline void psa_set_key_bits(psa_key_attributes_t *a, size_t bits) { a->bits = bits; }
static inline void psa_reset_key_attributes(psa_key_attributes_t *a) { a->bits = 0; }
