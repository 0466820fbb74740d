// esp_timer and the timers of FreeRTOS: one task runs all callbacks, one after another.
#include "esp_timer.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "esp_log.h"
#include "freertos/timers.h"
#include "kit.h"

using Clock = std::chrono::steady_clock;

std::chrono::steady_clock::time_point kit::booted() {
    static const Clock::time_point start = Clock::now();
    return start;
}

struct esp_timer {
    esp_timer_cb_t callback = nullptr;
    void* argument = nullptr;
    bool skip = false;
    bool active = false;
    bool doomed = false;
    Clock::time_point due;
    std::chrono::microseconds period{0};
};

namespace {

struct Timers {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<esp_timer*> all;
    bool running = false;
    esp_timer* in_callback = nullptr;
};

Timers& timers() {
    static auto* instance = new Timers;
    return *instance;
}

void run(void*) {
    auto& list = timers();
    std::unique_lock lock(list.mutex);
    while (true) {
        esp_timer* next = nullptr;
        for (auto* timer : list.all) {
            if (timer->active && (next == nullptr || timer->due < next->due)) {
                next = timer;
            }
        }
        if (next == nullptr) {
            list.changed.wait(lock);
            continue;
        }
        const auto now = Clock::now();
        if (next->due > now) {
            const auto due = next->due;
            list.changed.wait_until(lock, due);
            continue;
        }
        if (next->period.count() > 0) {
            next->due += next->period;
            if (next->skip && next->due < now) {
                next->due = now + next->period;
            }
        } else {
            next->active = false;
        }
        list.in_callback = next;
        const auto callback = next->callback;
        void* argument = next->argument;
        lock.unlock();
        callback(argument);
        lock.lock();
        list.in_callback = nullptr;
        if (next->doomed) {
            delete next;
        }
    }
}

esp_err_t start(esp_timer_handle_t timer, uint64_t first_us, uint64_t period_us) {
    auto& list = timers();
    const std::lock_guard lock(list.mutex);
    if (timer == nullptr) {
        return ESP_ERR_INVALID_ARG;
    }
    if (timer->active) {
        return ESP_ERR_INVALID_STATE;
    }
    timer->active = true;
    timer->period = std::chrono::microseconds(period_us);
    timer->due = Clock::now() + std::chrono::microseconds(first_us);
    list.changed.notify_all();
    return ESP_OK;
}

}  // namespace

extern "C" {

int64_t esp_timer_get_time(void) {
    const auto since = Clock::now() - kit::booted();
    return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

esp_err_t esp_timer_create(const esp_timer_create_args_t* args, esp_timer_handle_t* out) {
    if (args == nullptr || args->callback == nullptr || out == nullptr) {
        return ESP_ERR_INVALID_ARG;
    }
    auto* timer = new esp_timer;
    timer->callback = args->callback;
    timer->argument = args->arg;
    timer->skip = args->skip_unhandled_events;
    auto& list = timers();
    const std::lock_guard lock(list.mutex);
    list.all.push_back(timer);
    if (!list.running) {
        list.running = true;
        xTaskCreate(run, "esp_timer", 3584, nullptr, 22, nullptr);
    }
    *out = timer;
    return ESP_OK;
}

esp_err_t esp_timer_start_once(esp_timer_handle_t timer, uint64_t timeout_us) {
    return start(timer, timeout_us, 0);
}

esp_err_t esp_timer_start_periodic(esp_timer_handle_t timer, uint64_t period_us) {
    return start(timer, period_us, period_us);
}

esp_err_t esp_timer_restart(esp_timer_handle_t timer, uint64_t timeout_us) {
    uint64_t period = 0;
    {
        const std::lock_guard lock(timers().mutex);
        if (!timer->active) {
            return ESP_ERR_INVALID_STATE;
        }
        period = timer->period.count() > 0 ? timeout_us : 0;
        timer->active = false;
    }
    return start(timer, timeout_us, period);
}

esp_err_t esp_timer_stop(esp_timer_handle_t timer) {
    auto& list = timers();
    const std::lock_guard lock(list.mutex);
    if (timer == nullptr) {
        return ESP_ERR_INVALID_ARG;
    }
    if (!timer->active) {
        return ESP_ERR_INVALID_STATE;
    }
    timer->active = false;
    list.changed.notify_all();
    return ESP_OK;
}

esp_err_t esp_timer_delete(esp_timer_handle_t timer) {
    auto& list = timers();
    const std::lock_guard lock(list.mutex);
    if (timer == nullptr) {
        return ESP_ERR_INVALID_ARG;
    }
    if (timer->active) {
        return ESP_ERR_INVALID_STATE;
    }
    list.all.erase(std::remove(list.all.begin(), list.all.end(), timer), list.all.end());
    if (list.in_callback == timer) {
        timer->doomed = true;
    } else {
        delete timer;
    }
    return ESP_OK;
}

bool esp_timer_is_active(esp_timer_handle_t timer) {
    const std::lock_guard lock(timers().mutex);
    return timer != nullptr && timer->active;
}

}  // extern "C"

struct kit_soft_timer {
    esp_timer_handle_t timer = nullptr;
    TickType_t period = 1;
    bool reload = false;
    void* id = nullptr;
    TimerCallbackFunction_t callback = nullptr;
};

extern "C" {

TimerHandle_t xTimerCreate(const char* name, TickType_t period, BaseType_t reload, void* id,
                           TimerCallbackFunction_t callback) {
    auto* made = new kit_soft_timer;
    made->period = period;
    made->reload = reload != pdFALSE;
    made->id = id;
    made->callback = callback;
    esp_timer_create_args_t args = {};
    args.callback = [](void* argument) {
        auto* timer = static_cast<kit_soft_timer*>(argument);
        timer->callback(timer);
    };
    args.arg = made;
    args.name = name;
    esp_timer_create(&args, &made->timer);
    return made;
}

BaseType_t xTimerStart(TimerHandle_t timer, TickType_t) {
    esp_timer_stop(timer->timer);
    const uint64_t period = uint64_t{timer->period} * 1000;
    start(timer->timer, period, timer->reload ? period : 0);
    return pdPASS;
}

BaseType_t xTimerStop(TimerHandle_t timer, TickType_t) {
    esp_timer_stop(timer->timer);
    return pdPASS;
}

BaseType_t xTimerReset(TimerHandle_t timer, TickType_t wait) { return xTimerStart(timer, wait); }

BaseType_t xTimerChangePeriod(TimerHandle_t timer, TickType_t period, TickType_t wait) {
    timer->period = period;
    return xTimerStart(timer, wait);
}

BaseType_t xTimerDelete(TimerHandle_t timer, TickType_t) {
    esp_timer_stop(timer->timer);
    esp_timer_delete(timer->timer);
    delete timer;
    return pdPASS;
}

BaseType_t xTimerIsTimerActive(TimerHandle_t timer) {
    return esp_timer_is_active(timer->timer) ? pdTRUE : pdFALSE;
}

void* pvTimerGetTimerID(TimerHandle_t timer) { return timer->id; }

}  // extern "C"
