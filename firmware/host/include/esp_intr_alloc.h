#pragma once

typedef struct kit_interrupt *intr_handle_t;
#define ESP_INTR_FLAG_LEVEL1 (1 << 1)
#define ESP_INTR_FLAG_IRAM (1 << 10)
