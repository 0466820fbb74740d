#pragma once

#include <stddef.h>

#include "esp_err.h"

// No user data in the efuses: the device has no serial number, as most boards.
typedef struct esp_efuse_desc_t esp_efuse_desc_t;
