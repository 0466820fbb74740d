// What drivers of a board give out: something that is not null. Nothing is behind it.
#pragma once

#include <stddef.h>

#include "esp_err.h"

static inline void *kit_handle(void) {
    static long long nothing[8];
    return nothing;
}

// Sets what `out` points to, as the functions do that create a bus, a device or a channel.
#define KIT_NEW(out) ((out) != NULL ? (void)(*(out) = (__typeof__(*(out)))kit_handle()) : (void)0, ESP_OK)

// Drivers find with it what they have put around a handle. As newlib has it.
#ifndef __containerof
#define __containerof(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#endif
