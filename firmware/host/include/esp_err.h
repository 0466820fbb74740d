#pragma once

#include <assert.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sdkconfig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int esp_err_t;

#define ESP_OK 0
#define ESP_FAIL -1
#define ESP_ERR_NO_MEM 0x101
#define ESP_ERR_INVALID_ARG 0x102
#define ESP_ERR_INVALID_STATE 0x103
#define ESP_ERR_INVALID_SIZE 0x104
#define ESP_ERR_NOT_FOUND 0x105
#define ESP_ERR_NOT_SUPPORTED 0x106
#define ESP_ERR_TIMEOUT 0x107
#define ESP_ERR_INVALID_RESPONSE 0x108
#define ESP_ERR_INVALID_CRC 0x109
#define ESP_ERR_INVALID_VERSION 0x10A
#define ESP_ERR_INVALID_MAC 0x10B
#define ESP_ERR_NOT_FINISHED 0x10C
#define ESP_ERR_NOT_ALLOWED 0x10D

const char *esp_err_to_name(esp_err_t code);
const char *esp_err_to_name_r(esp_err_t code, char *buf, size_t buflen);
void kit_error_check_failed(esp_err_t rc, const char *file, int line, const char *function,
                            const char *expression) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#define ESP_ERROR_CHECK(x)                                                      \
    do {                                                                        \
        esp_err_t kit_rc_ = (x);                                                \
        if (kit_rc_ != ESP_OK) {                                                \
            kit_error_check_failed(kit_rc_, __FILE__, __LINE__, __func__, #x);  \
        }                                                                       \
    } while (0)

#define ESP_ERROR_CHECK_WITHOUT_ABORT(x) (x)
