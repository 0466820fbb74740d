// Queues, semaphores, event groups and critical sections, each one lock and one condition.
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "freertos/event_groups.h"
#include "freertos/queue.h"
#include "freertos/semphr.h"
#include "kit.h"

std::chrono::steady_clock::time_point kit::after_ticks(uint32_t ticks, bool& never) {
    never = ticks == portMAX_DELAY;
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(never ? 0 : ticks);
}

namespace {

// Waits for a condition for so many ticks; says whether it holds.
template <typename Ready>
bool wait_for(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
              TickType_t ticks, Ready ready) {
    bool never = false;
    const auto until = kit::after_ticks(ticks, never);
    if (ticks == 0) {
        return ready();
    }
    if (never) {
        condition.wait(lock, ready);
        return true;
    }
    return condition.wait_until(lock, until, ready);
}

}  // namespace

struct kit_queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::vector<uint8_t>> items;
    size_t length = 0;
    size_t item_size = 0;
};

struct kit_semaphore {
    std::mutex mutex;
    std::condition_variable changed;
    UBaseType_t count = 0;
    UBaseType_t most = 1;
    std::thread::id owner;
    UBaseType_t depth = 0;
};

struct kit_event_group {
    std::mutex mutex;
    std::condition_variable changed;
    EventBits_t bits = 0;
};

namespace {

std::recursive_mutex& critical() {
    static auto* mutex = new std::recursive_mutex;
    return *mutex;
}

BaseType_t push(QueueHandle_t queue, const void* item, TickType_t wait, bool front) {
    std::unique_lock lock(queue->mutex);
    const auto room = [&] { return queue->items.size() < queue->length; };
    if (!wait_for(lock, queue->changed, wait, room)) {
        return errQUEUE_FULL;
    }
    const auto* bytes = static_cast<const uint8_t*>(item);
    std::vector<uint8_t> copy(bytes, bytes + queue->item_size);
    if (front) {
        queue->items.push_front(std::move(copy));
    } else {
        queue->items.push_back(std::move(copy));
    }
    queue->changed.notify_all();
    return pdPASS;
}

BaseType_t pull(QueueHandle_t queue, void* item, TickType_t wait, bool keep) {
    std::unique_lock lock(queue->mutex);
    const auto filled = [&] { return !queue->items.empty(); };
    if (!wait_for(lock, queue->changed, wait, filled)) {
        return errQUEUE_EMPTY;
    }
    memcpy(item, queue->items.front().data(), queue->item_size);
    if (!keep) {
        queue->items.pop_front();
        queue->changed.notify_all();
    }
    return pdPASS;
}

SemaphoreHandle_t semaphore(UBaseType_t count, UBaseType_t most) {
    auto* made = new kit_semaphore;
    made->count = count;
    made->most = most;
    return made;
}

}  // namespace

extern "C" {

void kit_critical_enter(void) { critical().lock(); }
void kit_critical_leave(void) { critical().unlock(); }
BaseType_t xPortGetCoreID(void) { return 0; }
BaseType_t xPortInIsrContext(void) { return pdFALSE; }

QueueHandle_t xQueueCreate(UBaseType_t length, UBaseType_t item_size) {
    auto* queue = new kit_queue;
    queue->length = length;
    queue->item_size = item_size;
    return queue;
}

void vQueueDelete(QueueHandle_t queue) { delete queue; }
BaseType_t xQueueSend(QueueHandle_t queue, const void* item, TickType_t wait) {
    return push(queue, item, wait, false);
}
BaseType_t xQueueSendToFront(QueueHandle_t queue, const void* item, TickType_t wait) {
    return push(queue, item, wait, true);
}
BaseType_t xQueueSendFromISR(QueueHandle_t queue, const void* item, BaseType_t*) {
    return push(queue, item, 0, false);
}
BaseType_t xQueueOverwrite(QueueHandle_t queue, const void* item) {
    xQueueReset(queue);
    return push(queue, item, 0, false);
}
BaseType_t xQueueReceive(QueueHandle_t queue, void* item, TickType_t wait) {
    return pull(queue, item, wait, false);
}
BaseType_t xQueuePeek(QueueHandle_t queue, void* item, TickType_t wait) {
    return pull(queue, item, wait, true);
}
BaseType_t xQueueReset(QueueHandle_t queue) {
    const std::lock_guard lock(queue->mutex);
    queue->items.clear();
    queue->changed.notify_all();
    return pdPASS;
}
UBaseType_t uxQueueMessagesWaiting(QueueHandle_t queue) {
    const std::lock_guard lock(queue->mutex);
    return static_cast<UBaseType_t>(queue->items.size());
}
UBaseType_t uxQueueSpacesAvailable(QueueHandle_t queue) {
    const std::lock_guard lock(queue->mutex);
    return static_cast<UBaseType_t>(queue->length - queue->items.size());
}

SemaphoreHandle_t xSemaphoreCreateMutex(void) { return semaphore(1, 1); }
SemaphoreHandle_t xSemaphoreCreateRecursiveMutex(void) { return semaphore(1, 1); }
SemaphoreHandle_t xSemaphoreCreateBinary(void) { return semaphore(0, 1); }
SemaphoreHandle_t xSemaphoreCreateCounting(UBaseType_t most, UBaseType_t initial) {
    return semaphore(initial, most);
}
void vSemaphoreDelete(SemaphoreHandle_t made) { delete made; }

BaseType_t xSemaphoreTake(SemaphoreHandle_t made, TickType_t wait) {
    std::unique_lock lock(made->mutex);
    if (!wait_for(lock, made->changed, wait, [&] { return made->count > 0; })) {
        return pdFALSE;
    }
    --made->count;
    return pdTRUE;
}

BaseType_t xSemaphoreGive(SemaphoreHandle_t made) {
    const std::lock_guard lock(made->mutex);
    if (made->count >= made->most) {
        return pdFALSE;
    }
    ++made->count;
    made->changed.notify_one();
    return pdTRUE;
}

BaseType_t xSemaphoreTakeRecursive(SemaphoreHandle_t made, TickType_t wait) {
    const auto self = std::this_thread::get_id();
    std::unique_lock lock(made->mutex);
    if (made->depth > 0 && made->owner == self) {
        ++made->depth;
        return pdTRUE;
    }
    if (!wait_for(lock, made->changed, wait, [&] { return made->depth == 0; })) {
        return pdFALSE;
    }
    made->owner = self;
    made->depth = 1;
    return pdTRUE;
}

BaseType_t xSemaphoreGiveRecursive(SemaphoreHandle_t made) {
    const std::lock_guard lock(made->mutex);
    if (made->depth == 0 || made->owner != std::this_thread::get_id()) {
        return pdFALSE;
    }
    if (--made->depth == 0) {
        made->owner = {};
        made->changed.notify_one();
    }
    return pdTRUE;
}

BaseType_t xSemaphoreGiveFromISR(SemaphoreHandle_t made, BaseType_t*) {
    return xSemaphoreGive(made);
}

UBaseType_t uxSemaphoreGetCount(SemaphoreHandle_t made) {
    const std::lock_guard lock(made->mutex);
    return made->count;
}

EventGroupHandle_t xEventGroupCreate(void) { return new kit_event_group; }
void vEventGroupDelete(EventGroupHandle_t group) { delete group; }

EventBits_t xEventGroupSetBits(EventGroupHandle_t group, EventBits_t bits) {
    const std::lock_guard lock(group->mutex);
    group->bits |= bits;
    group->changed.notify_all();
    return group->bits;
}

EventBits_t xEventGroupClearBits(EventGroupHandle_t group, EventBits_t bits) {
    const std::lock_guard lock(group->mutex);
    const EventBits_t before = group->bits;
    group->bits &= ~bits;
    return before;
}

EventBits_t xEventGroupGetBits(EventGroupHandle_t group) {
    const std::lock_guard lock(group->mutex);
    return group->bits;
}

EventBits_t xEventGroupWaitBits(EventGroupHandle_t group, EventBits_t bits, BaseType_t clear,
                                BaseType_t all, TickType_t wait) {
    std::unique_lock lock(group->mutex);
    const auto ready = [&] {
        return all ? (group->bits & bits) == bits : (group->bits & bits) != 0;
    };
    const bool reached = wait_for(lock, group->changed, wait, ready);
    const EventBits_t before = group->bits;
    if (reached && clear) {
        group->bits &= ~bits;
    }
    return before;
}

BaseType_t xEventGroupSetBitsFromISR(EventGroupHandle_t group, EventBits_t bits, BaseType_t*) {
    xEventGroupSetBits(group, bits);
    return pdPASS;
}

}  // extern "C"
