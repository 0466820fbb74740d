// Tasks are threads. Their stacks have the sizes that the firmware asks for, times a scale, and
// memory below them that nobody may touch: a task that needs more dies as it does on a chip.
#include "freertos/task.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "esp_log.h"
#include "esp_timer.h"
#include "kit.h"

struct kit_task {
    TaskFunction_t code = nullptr;
    void* argument = nullptr;
    char name[32] = {};
    std::atomic<UBaseType_t> priority{1};
    pthread_t thread{};
    uint8_t* memory = nullptr;
    size_t memory_size = 0;
    size_t scale = 1;
    unsigned number = 0;
    int guard = -1;
    std::atomic<bool> deleted{false};
    std::atomic<bool> finished{false};
    std::mutex mutex;
    std::condition_variable notified;
    uint32_t value = 0;
    bool pending = false;
};

namespace {

constexpr size_t guard_size = 64 * 1024;
// A thread of the host keeps its own data, and what the C library needs for a call such as
// getaddrinfo, on the stack. A task of FreeRTOS does not.
constexpr size_t kept_by_host = 12 * 1024;

struct Guard {
    std::atomic<uint8_t*> start{nullptr};
    char name[32];
};
// Fixed, because a signal handler reads it.
Guard guards[256];

thread_local kit_task* current = nullptr;

struct Tasks {
    std::mutex mutex;
    std::vector<kit_task*> all;
    unsigned created = 0;
};

// Never destroyed: tasks still run while a program ends.
Tasks& tasks() {
    static auto* instance = new Tasks;
    return *instance;
}

size_t stack_scale() {
    static const size_t scale = [] {
#ifdef KIT_SANITIZE
        // Frames are several times larger with red zones between variables.
        const char* otherwise = "16";
#else
        const char* otherwise = "4";
#endif
        const long wanted = atol(kit::environment("MCP_HIL_STACK_SCALE", otherwise).c_str());
        return static_cast<size_t>(std::clamp(wanted, 1L, 1024L));
    }();
    return scale;
}

int take_guard(uint8_t* start, const char* name) {
    for (size_t at = 0; at < std::size(guards); ++at) {
        uint8_t* expected = nullptr;
        if (guards[at].start.load() == nullptr) {
            strncpy(guards[at].name, name, sizeof(guards[at].name) - 1);
            if (guards[at].start.compare_exchange_strong(expected, start)) {
                return static_cast<int>(at);
            }
        }
    }
    return -1;
}

// Frees what ended tasks have left. The caller holds the lock.
void reap(Tasks& list) {
    const auto ended = std::partition(list.all.begin(), list.all.end(),
                                      [](kit_task* task) { return !task->finished.load(); });
    for (auto at = ended; at != list.all.end(); ++at) {
        kit_task* task = *at;
        pthread_join(task->thread, nullptr);
        if (task->guard >= 0) {
            guards[task->guard].start = nullptr;
        }
        munmap(task->memory, task->memory_size);
        delete task;
    }
    list.all.erase(ended, list.all.end());
}

[[noreturn]] void leave(kit_task* task) {
    task->finished = true;
    pthread_exit(nullptr);
}

void* enter(void* argument) {
    current = static_cast<kit_task*>(argument);
    kit::use_alternate_signal_stack();
    pthread_setname_np(pthread_self(), std::string(current->name, 0, 15).c_str());
    current->code(current->argument);
    kit::print("E (" + std::to_string(esp_log_timestamp()) + ") FreeRTOS: the function of task " +
               current->name + " has returned\n");
    abort();
}

kit_task* or_current(TaskHandle_t task) { return task == nullptr ? current : task; }

}  // namespace

const char* kit::task_whose_stack_ended_at(const void* address) {
    for (auto& guard : guards) {
        const uint8_t* start = guard.start.load();
        if (start != nullptr && address >= start && address < start + guard_size) {
            return guard.name;
        }
    }
    return nullptr;
}

const char* kit::current_task_name() { return current == nullptr ? "host" : current->name; }

void kit::stop_if_deleted() {
    if (current != nullptr && current->deleted) {
        leave(current);
    }
}

extern "C" {

BaseType_t xTaskCreate(TaskFunction_t code, const char* name, uint32_t stack_depth, void* argument,
                       UBaseType_t priority, TaskHandle_t* created) {
    auto& list = tasks();
    const std::lock_guard lock(list.mutex);
    reap(list);
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t stack = stack_depth * stack_scale() + kept_by_host;
    stack = std::max<size_t>(stack, PTHREAD_STACK_MIN);
    stack = (stack + page - 1) / page * page;
    auto* task = new kit_task;
    task->code = code;
    task->argument = argument;
    task->priority = priority;
    task->scale = stack_scale();
    task->number = ++list.created;
    strncpy(task->name, name == nullptr ? "" : name, sizeof(task->name) - 1);
    task->memory_size = stack + guard_size;
    void* memory = mmap(nullptr, task->memory_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        delete task;
        return pdFAIL;
    }
    task->memory = static_cast<uint8_t*>(memory);
    mprotect(task->memory, guard_size, PROT_NONE);
    task->guard = take_guard(task->memory, task->name);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, task->memory + guard_size, stack);
    // Written before the task starts: the task may read the caller's variable at once.
    if (created != nullptr) {
        *created = task;
    }
    const int failed = pthread_create(&task->thread, &attributes, enter, task);
    pthread_attr_destroy(&attributes);
    if (failed != 0) {
        if (created != nullptr) {
            *created = nullptr;
        }
        munmap(task->memory, task->memory_size);
        delete task;
        return pdFAIL;
    }
    list.all.push_back(task);
    return pdPASS;
}

BaseType_t xTaskCreatePinnedToCore(TaskFunction_t code, const char* name, uint32_t stack_depth,
                                   void* argument, UBaseType_t priority, TaskHandle_t* created,
                                   BaseType_t) {
    return xTaskCreate(code, name, stack_depth, argument, priority, created);
}

BaseType_t xTaskCreateWithCaps(TaskFunction_t code, const char* name, uint32_t stack_depth,
                               void* argument, UBaseType_t priority, TaskHandle_t* created,
                               UBaseType_t) {
    return xTaskCreate(code, name, stack_depth, argument, priority, created);
}

BaseType_t xTaskCreatePinnedToCoreWithCaps(TaskFunction_t code, const char* name,
                                           uint32_t stack_depth, void* argument,
                                           UBaseType_t priority, TaskHandle_t* created, BaseType_t,
                                           UBaseType_t) {
    return xTaskCreate(code, name, stack_depth, argument, priority, created);
}

TaskHandle_t xTaskCreateStatic(TaskFunction_t code, const char* name, uint32_t stack_depth,
                               void* argument, UBaseType_t priority, StackType_t*, StaticTask_t*) {
    TaskHandle_t task = nullptr;
    xTaskCreate(code, name, stack_depth, argument, priority, &task);
    return task;
}

void vTaskDelete(TaskHandle_t task) {
    task = or_current(task);
    if (task == current && task != nullptr) {
        leave(task);
    }
    if (task != nullptr) {
        task->deleted = true;
        task->notified.notify_all();
    }
}

void vTaskDeleteWithCaps(TaskHandle_t task) { vTaskDelete(task); }

void vTaskDelay(TickType_t ticks) {
    kit::stop_if_deleted();
    if (ticks == 0) {
        std::this_thread::yield();
    } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(ticks));
    }
    kit::stop_if_deleted();
}

BaseType_t xTaskDelayUntil(TickType_t* previous, TickType_t increment) {
    *previous += increment;
    const auto ahead = static_cast<int32_t>(*previous - xTaskGetTickCount());
    if (ahead <= 0) {
        return pdFALSE;
    }
    vTaskDelay(static_cast<TickType_t>(ahead));
    return pdTRUE;
}

TickType_t xTaskGetTickCount(void) { return esp_log_timestamp(); }

TickType_t xTaskGetTickCountFromISR(void) { return esp_log_timestamp(); }

TaskHandle_t xTaskGetCurrentTaskHandle(void) { return current; }

TaskHandle_t xTaskGetHandle(const char* name) {
    auto& list = tasks();
    const std::lock_guard lock(list.mutex);
    for (auto* task : list.all) {
        if (!task->finished && strcmp(task->name, name) == 0) {
            return task;
        }
    }
    return nullptr;
}

char* pcTaskGetName(TaskHandle_t task) {
    static char host[] = "host";
    task = or_current(task);
    return task == nullptr ? host : task->name;
}

UBaseType_t uxTaskPriorityGet(TaskHandle_t task) {
    task = or_current(task);
    return task == nullptr ? 1 : task->priority.load();
}

// Remembered and not obeyed: the host schedules its threads as it likes.
void vTaskPrioritySet(TaskHandle_t task, UBaseType_t priority) {
    task = or_current(task);
    if (task != nullptr) {
        task->priority = priority;
    }
}

UBaseType_t uxTaskGetNumberOfTasks(void) {
    auto& list = tasks();
    const std::lock_guard lock(list.mutex);
    reap(list);
    return static_cast<UBaseType_t>(list.all.size());
}

// In bytes of the device: what the host's stack has left, divided by the scale.
UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task) {
    task = or_current(task);
    if (task == nullptr) {
        return 0;
    }
    const uint8_t* at = task->memory + guard_size;
    const uint8_t* end = task->memory + task->memory_size;
    const uint8_t* first = at;
    while (first < end && *first == 0) {
        ++first;
    }
    return static_cast<UBaseType_t>(static_cast<size_t>(first - at) / task->scale);
}

UBaseType_t uxTaskGetSystemState(TaskStatus_t* array, UBaseType_t size, uint32_t* total_run_time) {
    auto& list = tasks();
    const std::lock_guard lock(list.mutex);
    reap(list);
    if (size < list.all.size()) {
        return 0;
    }
    for (size_t at = 0; at < list.all.size(); ++at) {
        auto* task = list.all[at];
        array[at] = {};
        array[at].xHandle = task;
        array[at].pcTaskName = task->name;
        array[at].xTaskNumber = task->number;
        array[at].uxCurrentPriority = task->priority;
    }
    if (total_run_time != nullptr) {
        *total_run_time = static_cast<uint32_t>(esp_timer_get_time());
    }
    return static_cast<UBaseType_t>(list.all.size());
}

eTaskState eTaskGetState(TaskHandle_t task) { return task->finished ? eDeleted : eReady; }

void vTaskList(char* buffer) { *buffer = '\0'; }

void vTaskSuspend(TaskHandle_t) {}

void vTaskResume(TaskHandle_t) {}

void kit_task_yield(void) { std::this_thread::yield(); }

BaseType_t xTaskNotify(TaskHandle_t task, uint32_t value, eNotifyAction action) {
    const std::lock_guard lock(task->mutex);
    switch (action) {
        case eSetBits:
            task->value |= value;
            break;
        case eIncrement:
            ++task->value;
            break;
        case eSetValueWithoutOverwrite:
            if (task->pending) {
                return pdFAIL;
            }
            [[fallthrough]];
        case eSetValueWithOverwrite:
            task->value = value;
            break;
        case eNoAction:
            break;
    }
    task->pending = true;
    task->notified.notify_all();
    return pdPASS;
}

BaseType_t xTaskNotifyFromISR(TaskHandle_t task, uint32_t value, eNotifyAction action, BaseType_t*) {
    return xTaskNotify(task, value, action);
}

BaseType_t xTaskNotifyGive(TaskHandle_t task) { return xTaskNotify(task, 0, eIncrement); }

void vTaskNotifyGiveFromISR(TaskHandle_t task, BaseType_t*) { xTaskNotify(task, 0, eIncrement); }

uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t wait) {
    bool never = false;
    const auto until = kit::after_ticks(wait, never);
    uint32_t value = 0;
    {
        std::unique_lock lock(current->mutex);
        const auto ready = [] { return current->value != 0 || current->deleted; };
        if (never) {
            current->notified.wait(lock, ready);
        } else {
            current->notified.wait_until(lock, until, ready);
        }
        value = current->value;
        if (value != 0) {
            current->value = clear ? 0 : value - 1;
        }
        current->pending = false;
    }
    kit::stop_if_deleted();
    return value;
}

BaseType_t xTaskNotifyWait(uint32_t clear_on_entry, uint32_t clear_on_exit, uint32_t* value,
                           TickType_t wait) {
    bool never = false;
    const auto until = kit::after_ticks(wait, never);
    bool got = false;
    {
        std::unique_lock lock(current->mutex);
        if (!current->pending) {
            current->value &= ~clear_on_entry;
        }
        const auto ready = [] { return current->pending || current->deleted; };
        if (never) {
            current->notified.wait(lock, ready);
        } else {
            current->notified.wait_until(lock, until, ready);
        }
        got = current->pending;
        if (value != nullptr) {
            *value = current->value;
        }
        if (got) {
            current->value &= ~clear_on_exit;
        }
        current->pending = false;
    }
    kit::stop_if_deleted();
    return got ? pdTRUE : pdFALSE;
}

}  // extern "C"
