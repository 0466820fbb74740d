#pragma once

#include <stdint.h>
#include <unistd.h>

static inline void esp_rom_delay_us(uint32_t microseconds) { usleep(microseconds); }
#define esp_rom_printf printf
