#pragma once

#include <stddef.h>

#include "esp_err.h"

// No user data in the efuses: the device has no serial number, as most boards.
typedef struct esp_efuse_desc_t esp_efuse_desc_t;

static inline esp_err_t esp_efuse_write_field_bit(const esp_efuse_desc_t *field[]) {
    return (void)field, ESP_OK;
}
