// The FreeRTOS types and constants, one tick per millisecond. Everything runs on threads of the
// host: src/idf/task.cc and its neighbours.
#pragma once

#include <assert.h>

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "esp_heap_caps.h"
#include "esp_system.h"
#include "sdkconfig.h"

typedef int BaseType_t;
typedef unsigned int UBaseType_t;
typedef uint32_t TickType_t;
typedef uint8_t StackType_t;
#define configRUN_TIME_COUNTER_TYPE uint32_t

#define pdFALSE 0
#define pdTRUE 1
#define pdFAIL 0
#define pdPASS 1
#define errQUEUE_FULL 0
#define errQUEUE_EMPTY 0
#define configTICK_RATE_HZ CONFIG_FREERTOS_HZ
#define configMAX_PRIORITIES 25
#define configMINIMAL_STACK_SIZE 1536
#define configSTACK_DEPTH_TYPE uint32_t
#define configASSERT assert
#define portMAX_DELAY ((TickType_t)0xffffffffUL)
#define portTICK_PERIOD_MS ((TickType_t)(1000 / configTICK_RATE_HZ))
#define pdMS_TO_TICKS(ms) ((TickType_t)(((uint64_t)(ms) * configTICK_RATE_HZ) / 1000))
#define pdTICKS_TO_MS(ticks) ((uint32_t)(((uint64_t)(ticks) * 1000) / configTICK_RATE_HZ))
#define portNUM_PROCESSORS CONFIG_FREERTOS_NUMBER_OF_CORES
#define tskNO_AFFINITY ((BaseType_t)0x7fffffff)

#ifdef __cplusplus
extern "C" {
#endif

// A critical section keeps other cores out; here one lock for all of them does.
typedef struct {
    int unused;
} portMUX_TYPE;
#define portMUX_INITIALIZER_UNLOCKED {0}
void kit_critical_enter(void);
void kit_critical_leave(void);
BaseType_t xPortGetCoreID(void);
BaseType_t xPortInIsrContext(void);

#ifdef __cplusplus
}
#endif

#define portENTER_CRITICAL(mux) kit_critical_enter()
#define portEXIT_CRITICAL(mux) kit_critical_leave()
#define taskENTER_CRITICAL(mux) kit_critical_enter()
#define taskEXIT_CRITICAL(mux) kit_critical_leave()
#define portENTER_CRITICAL_ISR(mux) kit_critical_enter()
#define portEXIT_CRITICAL_ISR(mux) kit_critical_leave()
#define portYIELD_FROM_ISR(...) ((void)0)

#ifndef BIT
#define BIT(nr) (1UL << (nr))
#endif
#ifndef BIT0
#define BIT0 0x00000001
#define BIT1 0x00000002
#define BIT2 0x00000004
#define BIT3 0x00000008
#define BIT4 0x00000010
#define BIT5 0x00000020
#define BIT6 0x00000040
#define BIT7 0x00000080
#endif
#define IRAM_ATTR
#define DRAM_ATTR
#define EXT_RAM_BSS_ATTR
#define RTC_DATA_ATTR

// As on a chip, where its own headers bring this along.
#include "freertos/task.h"
