// The partitions of a board with 16 MB, and firmware updates, which this device downloads and does
// not install: an image for a chip cannot run here.
#include <cstring>
#include <iterator>

#include "esp_ota_ops.h"

namespace {

constexpr esp_partition_t partition(const char* label, esp_partition_type_t type, int subtype,
                                    uint32_t address, uint32_t size) {
    esp_partition_t made = {};
    made.type = type;
    made.subtype = static_cast<esp_partition_subtype_t>(subtype);
    made.address = address;
    made.size = size;
    made.erase_size = 4096;
    for (size_t at = 0; label[at] != '\0'; ++at) {
        made.label[at] = label[at];
    }
    return made;
}

const esp_partition_t partitions[] = {
    partition("nvs", ESP_PARTITION_TYPE_DATA, 0x02, 0x9000, 0x4000),
    partition("otadata", ESP_PARTITION_TYPE_DATA, 0x00, 0xd000, 0x2000),
    partition("phy_init", ESP_PARTITION_TYPE_DATA, 0x01, 0xf000, 0x1000),
    partition("ota_0", ESP_PARTITION_TYPE_APP, 0x10, 0x20000, 0x3f0000),
    partition("ota_1", ESP_PARTITION_TYPE_APP, 0x11, 0x410000, 0x3f0000),
};
constexpr size_t running = 3;

bool image_started = false;
bool image_plausible = false;

}  // namespace

struct kit_partition_iterator {
    size_t at;
    esp_partition_type_t type;
    esp_partition_subtype_t subtype;
    const char* label;

    bool settle() {
        for (; at < std::size(partitions); ++at) {
            const auto& candidate = partitions[at];
            const bool typed = type == ESP_PARTITION_TYPE_ANY || candidate.type == type;
            const bool subtyped =
                subtype == ESP_PARTITION_SUBTYPE_ANY || candidate.subtype == subtype;
            if (typed && subtyped && (label == nullptr || strcmp(candidate.label, label) == 0)) {
                return true;
            }
        }
        return false;
    }
};

extern "C" {

esp_partition_iterator_t esp_partition_find(esp_partition_type_t type,
                                            esp_partition_subtype_t subtype, const char* label) {
    auto* made = new kit_partition_iterator{0, type, subtype, label};
    if (made->settle()) {
        return made;
    }
    delete made;
    return nullptr;
}

const esp_partition_t* esp_partition_find_first(esp_partition_type_t type,
                                                esp_partition_subtype_t subtype,
                                                const char* label) {
    kit_partition_iterator found{0, type, subtype, label};
    return found.settle() ? &partitions[found.at] : nullptr;
}

const esp_partition_t* esp_partition_get(esp_partition_iterator_t iterator) {
    return &partitions[iterator->at];
}

esp_partition_iterator_t esp_partition_next(esp_partition_iterator_t iterator) {
    ++iterator->at;
    if (iterator->settle()) {
        return iterator;
    }
    delete iterator;
    return nullptr;
}

void esp_partition_iterator_release(esp_partition_iterator_t iterator) { delete iterator; }

const esp_partition_t* esp_ota_get_running_partition(void) { return &partitions[running]; }
const esp_partition_t* esp_ota_get_boot_partition(void) { return &partitions[running]; }
const esp_partition_t* esp_ota_get_next_update_partition(const esp_partition_t*) {
    return &partitions[running + 1];
}

esp_err_t esp_ota_get_state_partition(const esp_partition_t*, esp_ota_img_states_t* state) {
    *state = ESP_OTA_IMG_VALID;
    return ESP_OK;
}

esp_err_t esp_ota_mark_app_valid_cancel_rollback(void) { return ESP_OK; }

esp_err_t esp_ota_begin(const esp_partition_t*, size_t, esp_ota_handle_t* handle) {
    image_started = false;
    image_plausible = false;
    *handle = 1;
    return ESP_OK;
}

esp_err_t esp_ota_write(esp_ota_handle_t handle, const void* data, size_t size) {
    if (handle != 1) {
        return ESP_ERR_INVALID_ARG;
    }
    if (!image_started && size > 0) {
        image_started = true;
        image_plausible = *static_cast<const uint8_t*>(data) == 0xe9;
    }
    return image_plausible ? ESP_OK : ESP_ERR_OTA_VALIDATE_FAILED;
}

esp_err_t esp_ota_end(esp_ota_handle_t) { return ESP_ERR_OTA_VALIDATE_FAILED; }
esp_err_t esp_ota_abort(esp_ota_handle_t) { return ESP_OK; }
esp_err_t esp_ota_set_boot_partition(const esp_partition_t*) { return ESP_ERR_NOT_SUPPORTED; }

}  // extern "C"
