// Event loops without a task of their own, which is the kind that the MQTT client runs itself. The
// default loop has one on a chip; here its handlers run in the task that posts.
#include "esp_event.h"

#include <deque>
#include <mutex>
#include <string>
#include <vector>

struct kit_event_loop {
    struct Event {
        esp_event_base_t base;
        int32_t id;
        std::string data;
    };
    struct Handler {
        esp_event_base_t base;
        int32_t id;
        esp_event_handler_t call;
        void* argument;
    };
    std::recursive_mutex mutex;
    std::deque<Event> events;
    std::vector<Handler> handlers;
};

namespace {

esp_event_loop_handle_t default_loop() {
    static auto* loop = new kit_event_loop;
    return loop;
}

}  // namespace

extern "C" {

esp_err_t esp_event_loop_create(const esp_event_loop_args_t*, esp_event_loop_handle_t* out) {
    *out = new kit_event_loop;
    return ESP_OK;
}

esp_err_t esp_event_loop_create_default(void) { return ESP_OK; }

esp_err_t esp_event_loop_delete(esp_event_loop_handle_t loop) {
    delete loop;
    return ESP_OK;
}

esp_err_t esp_event_loop_run(esp_event_loop_handle_t loop, TickType_t) {
    while (true) {
        kit_event_loop::Event event;
        std::vector<kit_event_loop::Handler> handlers;
        {
            const std::lock_guard lock(loop->mutex);
            if (loop->events.empty()) {
                return ESP_OK;
            }
            event = std::move(loop->events.front());
            loop->events.pop_front();
            handlers = loop->handlers;
        }
        for (const auto& handler : handlers) {
            const bool base = handler.base == ESP_EVENT_ANY_BASE || handler.base == event.base;
            const bool id = handler.id == ESP_EVENT_ANY_ID || handler.id == event.id;
            if (base && id) {
                handler.call(handler.argument, event.base, event.id, event.data.data());
            }
        }
    }
}

esp_err_t esp_event_post_to(esp_event_loop_handle_t loop, esp_event_base_t base, int32_t id,
                            const void* data, size_t size, TickType_t) {
    const std::lock_guard lock(loop->mutex);
    loop->events.push_back({base, id, std::string(static_cast<const char*>(data), size)});
    return ESP_OK;
}

esp_err_t esp_event_handler_register_with(esp_event_loop_handle_t loop, esp_event_base_t base,
                                          int32_t id, esp_event_handler_t handler, void* arg) {
    const std::lock_guard lock(loop->mutex);
    loop->handlers.push_back({base, id, handler, arg});
    return ESP_OK;
}

esp_err_t esp_event_handler_unregister_with(esp_event_loop_handle_t loop, esp_event_base_t,
                                            int32_t, esp_event_handler_t handler) {
    const std::lock_guard lock(loop->mutex);
    std::erase_if(loop->handlers, [&](const auto& known) { return known.call == handler; });
    return ESP_OK;
}

esp_err_t esp_event_post(esp_event_base_t base, int32_t id, const void* data, size_t size,
                         TickType_t wait) {
    esp_event_post_to(default_loop(), base, id, data, size, wait);
    return esp_event_loop_run(default_loop(), 0);
}

esp_err_t esp_event_handler_register(esp_event_base_t base, int32_t id,
                                     esp_event_handler_t handler, void* arg) {
    return esp_event_handler_register_with(default_loop(), base, id, handler, arg);
}

esp_err_t esp_event_handler_unregister(esp_event_base_t base, int32_t id,
                                       esp_event_handler_t handler) {
    return esp_event_handler_unregister_with(default_loop(), base, id, handler);
}

}  // extern "C"
