#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "esp_err.h"
#include "freertos/FreeRTOS.h"
#include "freertos/queue.h"
#include "freertos/semphr.h"
#include "freertos/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef const char *esp_event_base_t;
typedef struct kit_event_loop *esp_event_loop_handle_t;
typedef void (*esp_event_handler_t)(void *arg, esp_event_base_t base, int32_t id, void *data);

typedef struct {
    int32_t queue_size;
    const char *task_name;
    UBaseType_t task_priority;
    uint32_t task_stack_size;
    BaseType_t task_core_id;
} esp_event_loop_args_t;

#define ESP_EVENT_ANY_BASE NULL
#define ESP_EVENT_ANY_ID -1
#define ESP_EVENT_DECLARE_BASE(id) extern esp_event_base_t const id
#define ESP_EVENT_DEFINE_BASE(id) esp_event_base_t const id = #id

esp_err_t esp_event_loop_create(const esp_event_loop_args_t *args, esp_event_loop_handle_t *out);
esp_err_t esp_event_loop_create_default(void);
esp_err_t esp_event_post(esp_event_base_t base, int32_t id, const void *data, size_t size,
                         TickType_t wait);
esp_err_t esp_event_handler_register(esp_event_base_t base, int32_t id,
                                     esp_event_handler_t handler, void *arg);
esp_err_t esp_event_handler_unregister(esp_event_base_t base, int32_t id,
                                       esp_event_handler_t handler);
esp_err_t esp_event_loop_delete(esp_event_loop_handle_t loop);
esp_err_t esp_event_loop_run(esp_event_loop_handle_t loop, TickType_t ticks);
esp_err_t esp_event_post_to(esp_event_loop_handle_t loop, esp_event_base_t base, int32_t id,
                            const void *data, size_t size, TickType_t wait);
esp_err_t esp_event_handler_register_with(esp_event_loop_handle_t loop, esp_event_base_t base,
                                          int32_t id, esp_event_handler_t handler, void *arg);
esp_err_t esp_event_handler_unregister_with(esp_event_loop_handle_t loop, esp_event_base_t base,
                                            int32_t id, esp_event_handler_t handler);

#ifdef __cplusplus
}
#endif
