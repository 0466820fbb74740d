#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "esp_err.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ESP_PARTITION_TYPE_APP = 0,
    ESP_PARTITION_TYPE_DATA = 1,
    ESP_PARTITION_TYPE_ANY = 0xff
} esp_partition_type_t;

typedef enum {
    ESP_PARTITION_SUBTYPE_APP_FACTORY = 0,
    ESP_PARTITION_SUBTYPE_APP_OTA_0 = 0x10,
    ESP_PARTITION_SUBTYPE_APP_OTA_1 = 0x11,
    ESP_PARTITION_SUBTYPE_DATA_OTA = 0,
    ESP_PARTITION_SUBTYPE_DATA_PHY = 1,
    ESP_PARTITION_SUBTYPE_DATA_NVS = 2,
    ESP_PARTITION_SUBTYPE_DATA_SPIFFS = 0x82,
    ESP_PARTITION_SUBTYPE_ANY = 0xff
} esp_partition_subtype_t;

typedef struct {
    void *flash_chip;
    esp_partition_type_t type;
    esp_partition_subtype_t subtype;
    uint32_t address;
    uint32_t size;
    uint32_t erase_size;
    char label[17];
    bool encrypted;
    bool readonly;
} esp_partition_t;

typedef struct kit_partition_iterator *esp_partition_iterator_t;
typedef uint32_t esp_partition_mmap_handle_t;
typedef enum { ESP_PARTITION_MMAP_DATA, ESP_PARTITION_MMAP_INST } esp_partition_mmap_memory_t;

esp_partition_iterator_t esp_partition_find(esp_partition_type_t type,
                                            esp_partition_subtype_t subtype, const char *label);
const esp_partition_t *esp_partition_find_first(esp_partition_type_t type,
                                                esp_partition_subtype_t subtype, const char *label);
const esp_partition_t *esp_partition_get(esp_partition_iterator_t iterator);
esp_partition_iterator_t esp_partition_next(esp_partition_iterator_t iterator);
void esp_partition_iterator_release(esp_partition_iterator_t iterator);

#ifdef __cplusplus
}
#endif

// There is no flash memory behind a partition.
static inline esp_err_t esp_partition_read(const esp_partition_t *partition, size_t offset, void *data,
                                           size_t size) {
    return (void)partition, (void)offset, (void)data, (void)size, ESP_ERR_NOT_SUPPORTED;
}
static inline esp_err_t esp_partition_write(const esp_partition_t *partition, size_t offset,
                                            const void *data, size_t size) {
    return (void)partition, (void)offset, (void)data, (void)size, ESP_ERR_NOT_SUPPORTED;
}
static inline esp_err_t esp_partition_erase_range(const esp_partition_t *partition, size_t offset,
                                                  size_t size) {
    return (void)partition, (void)offset, (void)size, ESP_ERR_NOT_SUPPORTED;
}
