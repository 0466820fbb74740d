// Counts what the program has allocated, so that the device can say how much is free and
// MCP_HIL_HEAP can be a limit. The linker routes the calls of malloc and its like here. Under
// sanitizers, which have an allocator of their own, nothing is counted.
#include <errno.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "esp_heap_caps.h"
#include "esp_system.h"
#include "kit.h"

namespace {

std::atomic<size_t> used{0};
std::atomic<size_t> most_used{0};
// What the program needs before the firmware starts is no part of the device's heap.
std::atomic<bool> started{false};

size_t limit() {
    // Reads the environment itself: a std::string would allocate.
    static const size_t bytes = [] {
        const char* text = getenv("MCP_HIL_HEAP");
        return text == nullptr ? size_t{0} : static_cast<size_t>(strtoull(text, nullptr, 0));
    }();
    return bytes;
}

// Without a limit the device says what an ESP32-S3 with 8 MB of external memory would.
size_t total() { return limit() == 0 ? size_t{8} * 1024 * 1024 : limit(); }

}  // namespace

void kit::start_counting_heap() {
    used = 0;
    most_used = 0;
    started = true;
}

#ifndef KIT_SANITIZE

extern "C" {
void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* block, size_t size);
void* __real_aligned_alloc(size_t alignment, size_t size);
char* __real_strdup(const char* text);
void __real_free(void* block);
}

namespace {

bool fits(size_t size) { return !started || limit() == 0 || used + size <= limit(); }

void* count(void* block) {
    if (block != nullptr) {
        const size_t now = used += malloc_usable_size(block);
        size_t most = most_used;
        while (now > most && !most_used.compare_exchange_weak(most, now)) {
        }
    }
    return block;
}

void discount(void* block) {
    if (block == nullptr) {
        return;
    }
    // Some blocks come from the C library, which does not count.
    const size_t size = malloc_usable_size(block);
    size_t now = used;
    while (!used.compare_exchange_weak(now, now - std::min(now, size))) {
    }
}

}  // namespace

extern "C" {

void* __wrap_malloc(size_t size) {
    if (!fits(size)) {
        errno = ENOMEM;
        return nullptr;
    }
    return count(__real_malloc(size));
}

void* __wrap_calloc(size_t number, size_t size) {
    if (size != 0 && number > SIZE_MAX / size) {
        return nullptr;
    }
    return fits(number * size) ? count(__real_calloc(number, size)) : nullptr;
}

void* __wrap_realloc(void* block, size_t size) {
    const size_t before = block == nullptr ? 0 : malloc_usable_size(block);
    if (size > before && !fits(size - before)) {
        return nullptr;
    }
    void* moved = __real_realloc(block, size);
    if (moved == nullptr && size != 0) {
        return nullptr;
    }
    size_t now = used;
    while (!used.compare_exchange_weak(now, now - std::min(now, before))) {
    }
    return count(moved);
}

void* __wrap_aligned_alloc(size_t alignment, size_t size) {
    return fits(size) ? count(__real_aligned_alloc(alignment, size)) : nullptr;
}

char* __wrap_strdup(const char* text) {
    const size_t size = strlen(text) + 1;
    auto* copy = static_cast<char*>(__wrap_malloc(size));
    return copy == nullptr ? nullptr : static_cast<char*>(memcpy(copy, text, size));
}

void __wrap_free(void* block) {
    discount(block);
    __real_free(block);
}

}  // extern "C"

void* operator new(size_t size) {
    void* block = malloc(std::max<size_t>(size, 1));
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    return block;
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
    return malloc(std::max<size_t>(size, 1));
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
    return malloc(std::max<size_t>(size, 1));
}
void operator delete(void* block) noexcept { free(block); }
void operator delete[](void* block) noexcept { free(block); }
void operator delete(void* block, size_t) noexcept { free(block); }
void operator delete[](void* block, size_t) noexcept { free(block); }

#endif

extern "C" {

void* heap_caps_malloc(size_t size, uint32_t) { return malloc(size); }
void* heap_caps_calloc(size_t number, size_t size, uint32_t) { return calloc(number, size); }
void* heap_caps_realloc(void* block, size_t size, uint32_t) { return realloc(block, size); }
void* heap_caps_aligned_alloc(size_t alignment, size_t size, uint32_t) {
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void heap_caps_free(void* block) { free(block); }
size_t heap_caps_get_free_size(uint32_t) { return total() - std::min<size_t>(used, total()); }
size_t heap_caps_get_minimum_free_size(uint32_t) {
    return total() - std::min<size_t>(most_used, total());
}
size_t heap_caps_get_largest_free_block(uint32_t caps) { return heap_caps_get_free_size(caps); }
size_t heap_caps_get_total_size(uint32_t) { return total(); }

uint32_t esp_get_free_heap_size(void) {
    return static_cast<uint32_t>(heap_caps_get_free_size(MALLOC_CAP_DEFAULT));
}
uint32_t esp_get_minimum_free_heap_size(void) {
    return static_cast<uint32_t>(heap_caps_get_minimum_free_size(MALLOC_CAP_DEFAULT));
}
uint32_t esp_get_free_internal_heap_size(void) { return esp_get_free_heap_size(); }

}  // extern "C"
