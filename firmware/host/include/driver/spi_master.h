#pragma once

#include <string.h>

#include "driver/spi_common.h"

#define SPI_MASTER_FREQ_10M 10000000
#define SPI_MASTER_FREQ_20M 20000000
#define SPI_MASTER_FREQ_40M 40000000
#define SPI_MASTER_FREQ_80M 80000000
#define SPI_TRANS_MODE_DIO (1 << 0)
#define SPI_TRANS_MODE_QIO (1 << 1)
#define SPI_TRANS_USE_RXDATA (1 << 2)
#define SPI_TRANS_USE_TXDATA (1 << 3)
#define SPI_TRANS_CS_KEEP_ACTIVE (1 << 8)
#define SPI_DEVICE_3WIRE (1 << 2)
#define SPI_DEVICE_HALFDUPLEX (1 << 4)
#define SPI_DEVICE_NO_DUMMY (1 << 6)

typedef enum { SPI_CLK_SRC_DEFAULT, SPI_CLK_SRC_APB, SPI_CLK_SRC_XTAL } spi_clock_source_t;
typedef enum { SPI_SAMPLING_POINT_PHASE_0 } spi_sampling_point_t;
typedef struct kit_spi_device *spi_device_handle_t;
typedef struct spi_transaction_t spi_transaction_t;
typedef void (*transaction_cb_t)(spi_transaction_t *transaction);

typedef struct {
    uint8_t command_bits;
    uint8_t address_bits;
    uint8_t dummy_bits;
    uint8_t mode;
    spi_clock_source_t clock_source;
    uint16_t duty_cycle_pos;
    uint16_t cs_ena_pretrans;
    uint8_t cs_ena_posttrans;
    int clock_speed_hz;
    int input_delay_ns;
    spi_sampling_point_t sample_point;
    int spics_io_num;
    uint32_t flags;
    int queue_size;
    transaction_cb_t pre_cb;
    transaction_cb_t post_cb;
} spi_device_interface_config_t;

struct spi_transaction_t {
    uint32_t flags;
    uint16_t cmd;
    uint64_t addr;
    size_t length;
    size_t rxlength;
    uint32_t override_freq_hz;
    void *user;
    union {
        const void *tx_buffer;
        uint8_t tx_data[4];
    };
    union {
        void *rx_buffer;
        uint8_t rx_data[4];
    };
};

static inline esp_err_t spi_bus_add_device(spi_host_device_t host,
                                           const spi_device_interface_config_t *config,
                                           spi_device_handle_t *out) {
    return (void)host, (void)config, KIT_NEW(out);
}
static inline esp_err_t spi_bus_remove_device(spi_device_handle_t device) { return (void)device, ESP_OK; }
// Reads are zeros.
static inline esp_err_t spi_device_polling_transmit(spi_device_handle_t device,
                                                    spi_transaction_t *transaction) {
    (void)device;
    if ((transaction->flags & SPI_TRANS_USE_RXDATA) != 0) {
        memset(transaction->rx_data, 0, sizeof transaction->rx_data);
    } else if (transaction->rx_buffer != NULL) {
        const size_t bits = transaction->rxlength != 0 ? transaction->rxlength : transaction->length;
        memset(transaction->rx_buffer, 0, (bits + 7) / 8);
    }
    return ESP_OK;
}
static inline esp_err_t spi_device_transmit(spi_device_handle_t device, spi_transaction_t *transaction) {
    return spi_device_polling_transmit(device, transaction);
}
static inline esp_err_t spi_device_queue_trans(spi_device_handle_t device, spi_transaction_t *transaction,
                                               uint32_t ticks) {
    (void)ticks;
    return spi_device_polling_transmit(device, transaction);
}
static inline esp_err_t spi_device_acquire_bus(spi_device_handle_t device, uint32_t ticks) {
    return (void)device, (void)ticks, ESP_OK;
}
static inline void spi_device_release_bus(spi_device_handle_t device) { (void)device; }
