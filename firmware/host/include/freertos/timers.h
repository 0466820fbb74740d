#pragma once

#include "freertos/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kit_soft_timer *TimerHandle_t;
typedef void (*TimerCallbackFunction_t)(TimerHandle_t timer);

TimerHandle_t xTimerCreate(const char *name, TickType_t period, BaseType_t reload, void *id,
                           TimerCallbackFunction_t callback);
BaseType_t xTimerStart(TimerHandle_t timer, TickType_t wait);
BaseType_t xTimerStop(TimerHandle_t timer, TickType_t wait);
BaseType_t xTimerReset(TimerHandle_t timer, TickType_t wait);
BaseType_t xTimerChangePeriod(TimerHandle_t timer, TickType_t period, TickType_t wait);
BaseType_t xTimerDelete(TimerHandle_t timer, TickType_t wait);
BaseType_t xTimerIsTimerActive(TimerHandle_t timer);
void *pvTimerGetTimerID(TimerHandle_t timer);

#ifdef __cplusplus
}
#endif
