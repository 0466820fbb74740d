// A serial line with nothing at its end: what is written is gone, and nothing comes.
#pragma once

#include <stddef.h>

#include "driver/gpio.h"
#include "esp_intr_alloc.h"
#include "freertos/FreeRTOS.h"
#include "freertos/queue.h"

typedef enum { UART_NUM_0, UART_NUM_1, UART_NUM_2, UART_NUM_MAX } uart_port_t;
typedef enum { UART_DATA_5_BITS, UART_DATA_6_BITS, UART_DATA_7_BITS, UART_DATA_8_BITS } uart_word_length_t;
typedef enum { UART_STOP_BITS_1 = 1, UART_STOP_BITS_1_5, UART_STOP_BITS_2 } uart_stop_bits_t;
typedef enum { UART_PARITY_DISABLE, UART_PARITY_EVEN = 2, UART_PARITY_ODD } uart_parity_t;
typedef enum { UART_HW_FLOWCTRL_DISABLE, UART_HW_FLOWCTRL_RTS, UART_HW_FLOWCTRL_CTS } uart_hw_flowcontrol_t;
typedef enum { UART_SCLK_DEFAULT, UART_SCLK_APB, UART_SCLK_XTAL } uart_sclk_t;
#define UART_PIN_NO_CHANGE (-1)

typedef struct {
    int baud_rate;
    uart_word_length_t data_bits;
    uart_parity_t parity;
    uart_stop_bits_t stop_bits;
    uart_hw_flowcontrol_t flow_ctrl;
    uint8_t rx_flow_ctrl_thresh;
    uart_sclk_t source_clk;
} uart_config_t;

static inline esp_err_t uart_driver_install(uart_port_t port, int receive, int send, int events,
                                            QueueHandle_t *queue, int flags) {
    return (void)port, (void)receive, (void)send, (void)events, (void)queue, (void)flags, ESP_OK;
}
static inline esp_err_t uart_driver_delete(uart_port_t port) { return (void)port, ESP_OK; }
static inline esp_err_t uart_param_config(uart_port_t port, const uart_config_t *config) {
    return (void)port, (void)config, ESP_OK;
}
static inline esp_err_t uart_set_pin(uart_port_t port, int tx, int rx, int rts, int cts) {
    return (void)port, (void)tx, (void)rx, (void)rts, (void)cts, ESP_OK;
}
static inline int uart_write_bytes(uart_port_t port, const void *data, size_t size) {
    return (void)port, (void)data, (int)size;
}
static inline int uart_read_bytes(uart_port_t port, void *data, uint32_t size, TickType_t wait) {
    (void)port, (void)data, (void)size;
    vTaskDelay(wait);
    return 0;
}
static inline esp_err_t uart_flush(uart_port_t port) { return (void)port, ESP_OK; }
