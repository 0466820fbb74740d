#pragma once

#include "freertos/FreeRTOS.h"

#ifdef __cplusplus
extern "C" {
#endif

#define tskIDLE_PRIORITY 0

typedef struct kit_task *TaskHandle_t;
typedef void (*TaskFunction_t)(void *);

typedef enum { eRunning, eReady, eBlocked, eSuspended, eDeleted, eInvalid } eTaskState;
typedef enum {
    eNoAction,
    eSetBits,
    eIncrement,
    eSetValueWithOverwrite,
    eSetValueWithoutOverwrite
} eNotifyAction;

typedef struct {
    TaskHandle_t xHandle;
    const char *pcTaskName;
    UBaseType_t xTaskNumber;
    eTaskState eCurrentState;
    UBaseType_t uxCurrentPriority;
    UBaseType_t uxBasePriority;
    uint32_t ulRunTimeCounter;
    uint32_t usStackHighWaterMark;
} TaskStatus_t;

typedef struct {
    char unused[8];
} StaticTask_t;

BaseType_t xTaskCreate(TaskFunction_t code, const char *name, uint32_t stack_depth, void *argument,
                       UBaseType_t priority, TaskHandle_t *created);
BaseType_t xTaskCreatePinnedToCore(TaskFunction_t code, const char *name, uint32_t stack_depth,
                                   void *argument, UBaseType_t priority, TaskHandle_t *created,
                                   BaseType_t core);
BaseType_t xTaskCreateWithCaps(TaskFunction_t code, const char *name, uint32_t stack_depth,
                               void *argument, UBaseType_t priority, TaskHandle_t *created,
                               UBaseType_t caps);
BaseType_t xTaskCreatePinnedToCoreWithCaps(TaskFunction_t code, const char *name,
                                           uint32_t stack_depth, void *argument,
                                           UBaseType_t priority, TaskHandle_t *created,
                                           BaseType_t core, UBaseType_t caps);
TaskHandle_t xTaskCreateStatic(TaskFunction_t code, const char *name, uint32_t stack_depth,
                               void *argument, UBaseType_t priority, StackType_t *stack,
                               StaticTask_t *task);
void vTaskDelete(TaskHandle_t task);
void vTaskDeleteWithCaps(TaskHandle_t task);
void vTaskDelay(TickType_t ticks);
BaseType_t xTaskDelayUntil(TickType_t *previous, TickType_t increment);
#define vTaskDelayUntil(previous, increment) ((void)xTaskDelayUntil(previous, increment))
TickType_t xTaskGetTickCount(void);
TickType_t xTaskGetTickCountFromISR(void);
TaskHandle_t xTaskGetCurrentTaskHandle(void);
TaskHandle_t xTaskGetHandle(const char *name);
char *pcTaskGetName(TaskHandle_t task);
UBaseType_t uxTaskPriorityGet(TaskHandle_t task);
void vTaskPrioritySet(TaskHandle_t task, UBaseType_t priority);
UBaseType_t uxTaskGetNumberOfTasks(void);
UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task);
UBaseType_t uxTaskGetSystemState(TaskStatus_t *array, UBaseType_t size, uint32_t *total_run_time);
eTaskState eTaskGetState(TaskHandle_t task);
void vTaskList(char *buffer);
void vTaskSuspend(TaskHandle_t task);
void vTaskResume(TaskHandle_t task);
void kit_task_yield(void);
#define taskYIELD() kit_task_yield()

BaseType_t xTaskNotify(TaskHandle_t task, uint32_t value, eNotifyAction action);
BaseType_t xTaskNotifyFromISR(TaskHandle_t task, uint32_t value, eNotifyAction action, BaseType_t *woken);
BaseType_t xTaskNotifyGive(TaskHandle_t task);
void vTaskNotifyGiveFromISR(TaskHandle_t task, BaseType_t *woken);
uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t wait);
BaseType_t xTaskNotifyWait(uint32_t clear_on_entry, uint32_t clear_on_exit, uint32_t *value,
                           TickType_t wait);

#ifdef __cplusplus
}
#endif
