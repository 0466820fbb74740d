// The calls of NVS. Values live in memory; the file that MCP_HIL_NVS names is read at the first
// use and written at each commit.
#include "nvs_flash.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>

#include "esp_log.h"
#include "kit.h"
#include "nvs_image.h"

using kit::NvsType;
using kit::NvsValue;

namespace {

constexpr const char* tag = "nvs";
constexpr size_t default_size = 0x4000;
constexpr size_t longest_text = 4000;

struct Handle {
    std::string space;
    bool writable = false;
};

struct Store {
    std::mutex mutex;
    bool loaded = false;
    bool changed = false;
    std::string file;
    std::vector<uint8_t> image;
    kit::NvsSettings settings;
    std::map<nvs_handle_t, Handle> handles;
    nvs_handle_t last = 0;
    std::set<std::string> opened_for_writing;

    void load() {
        if (loaded) {
            return;
        }
        loaded = true;
        file = kit::environment("MCP_HIL_NVS");
        image.assign(default_size, 0xff);
        if (file.empty()) {
            return;
        }
        std::ifstream in(file, std::ios::binary);
        std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
        if (bytes.size() >= 3 * kit::nvs_page && bytes.size() % kit::nvs_page == 0) {
            image = std::move(bytes);
            settings = kit::read_nvs(image);
        } else if (!bytes.empty()) {
            ESP_LOGE(tag, "%s is no NVS partition: expected whole pages of 4096 bytes, got %zu bytes",
                     file.c_str(), bytes.size());
        }
    }

    // Under another name first, so that a device that is killed meanwhile keeps the old settings.
    void save() {
        if (!changed || file.empty()) {
            return;
        }
        if (!kit::write_nvs(settings, image)) {
            ESP_LOGE(tag, "the settings do not fit into %zu bytes", image.size());
            return;
        }
        const std::string fresh = file + ".new";
        std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
        out.write(reinterpret_cast<const char*>(image.data()),
                  static_cast<std::streamsize>(image.size()));
        out.close();
        if (!out || rename(fresh.c_str(), file.c_str()) != 0) {
            ESP_LOGE(tag, "cannot write %s: %s", file.c_str(), strerror(errno));
            return;
        }
        changed = false;
    }
};

Store& store() {
    static auto* instance = new Store;
    return *instance;
}

esp_err_t check_key(const char* key) {
    if (key == nullptr || *key == '\0') {
        return ESP_ERR_NVS_INVALID_NAME;
    }
    return strlen(key) >= NVS_KEY_NAME_MAX_SIZE ? ESP_ERR_NVS_KEY_TOO_LONG : ESP_OK;
}

esp_err_t find(Store& store, nvs_handle_t handle, const char* key, NvsType type, NvsValue& out) {
    const auto open = store.handles.find(handle);
    if (open == store.handles.end()) {
        return ESP_ERR_NVS_INVALID_HANDLE;
    }
    const auto& space = open->second.space;
    // A board can hold another address in its flash; the harness says for each run which one.
    if (type == NvsType::text && space == "wifi" && strcmp(key, "ota_url") == 0) {
        const auto url = kit::environment("MCP_HIL_OTA_URL");
        if (!url.empty()) {
            out = {NvsType::text, url + '\0'};
            return ESP_OK;
        }
    }
    const auto& entries = store.settings[space];
    const auto found = entries.find(key);
    // The type is part of what is looked up: a text is not found as a number.
    if (found == entries.end() || found->second.type != type) {
        return ESP_ERR_NVS_NOT_FOUND;
    }
    out = found->second;
    return ESP_OK;
}

// The namespace that a handle may write to.
esp_err_t writable(const Store& all, nvs_handle_t handle, std::string& space) {
    const auto open = all.handles.find(handle);
    if (open == all.handles.end()) {
        return ESP_ERR_NVS_INVALID_HANDLE;
    }
    if (!open->second.writable) {
        return ESP_ERR_NVS_READ_ONLY;
    }
    space = open->second.space;
    return ESP_OK;
}

esp_err_t put(nvs_handle_t handle, const char* key, NvsType type, std::string bytes) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    std::string space;
    if (const esp_err_t wrong = writable(all, handle, space); wrong != ESP_OK) {
        return wrong;
    }
    if (const esp_err_t wrong = check_key(key); wrong != ESP_OK) {
        return wrong;
    }
    NvsValue value{type, std::move(bytes)};
    auto& entries = all.settings[space];
    const auto old = entries.find(key);
    if (old != entries.end() && old->second == value) {
        return ESP_OK;
    }
    auto tried = all.settings;
    tried[space][key] = std::move(value);
    auto image = all.image;
    if (!kit::write_nvs(tried, image)) {
        return ESP_ERR_NVS_NOT_ENOUGH_SPACE;
    }
    all.settings = std::move(tried);
    all.changed = true;
    return ESP_OK;
}

esp_err_t get_bytes(nvs_handle_t handle, const char* key, NvsType type, void* out, size_t* length) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    NvsValue value;
    if (const esp_err_t failed = find(all, handle, key, type, value); failed != ESP_OK) {
        return failed;
    }
    if (out != nullptr) {
        if (*length < value.bytes.size()) {
            *length = value.bytes.size();
            return ESP_ERR_NVS_INVALID_LENGTH;
        }
        memcpy(out, value.bytes.data(), value.bytes.size());
    }
    *length = value.bytes.size();
    return ESP_OK;
}

template <typename Number>
esp_err_t get_number(nvs_handle_t handle, const char* key, NvsType type, Number* out) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    NvsValue value;
    const esp_err_t failed = find(all, handle, key, type, value);
    if (failed == ESP_OK) {
        memcpy(out, value.bytes.data(), sizeof *out);
    }
    return failed;
}

template <typename Number>
esp_err_t put_number(nvs_handle_t handle, const char* key, NvsType type, Number value) {
    return put(handle, key, type, std::string(reinterpret_cast<const char*>(&value), sizeof value));
}

}  // namespace

void kit::nvs_flush() {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    all.save();
}

bool kit::nvs_written_namespace(const char* name) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    return all.opened_for_writing.count(name) != 0;
}

extern "C" {

esp_err_t nvs_flash_init(void) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    all.load();
    return ESP_OK;
}

esp_err_t nvs_flash_erase(void) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    all.load();
    all.settings.clear();
    all.changed = true;
    all.save();
    return ESP_OK;
}

esp_err_t nvs_flash_deinit(void) { return ESP_OK; }

esp_err_t nvs_open(const char* name, nvs_open_mode_t mode, nvs_handle_t* out) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    if (!all.loaded) {
        return ESP_ERR_NVS_NOT_INITIALIZED;
    }
    if (const esp_err_t wrong = check_key(name); wrong != ESP_OK) {
        return wrong;
    }
    if (mode == NVS_READWRITE) {
        all.opened_for_writing.insert(name);
        all.settings[name];
    } else if (all.settings.count(name) == 0) {
        const bool told = strcmp(name, "wifi") == 0 && !kit::environment("MCP_HIL_OTA_URL").empty();
        if (!told) {
            return ESP_ERR_NVS_NOT_FOUND;
        }
    }
    *out = ++all.last;
    all.handles[*out] = {name, mode == NVS_READWRITE};
    return ESP_OK;
}

void nvs_close(nvs_handle_t handle) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    all.handles.erase(handle);
}

esp_err_t nvs_commit(nvs_handle_t handle) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    if (all.handles.count(handle) == 0) {
        return ESP_ERR_NVS_INVALID_HANDLE;
    }
    all.save();
    return ESP_OK;
}

esp_err_t nvs_erase_key(nvs_handle_t handle, const char* key) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    std::string space;
    if (const esp_err_t wrong = writable(all, handle, space); wrong != ESP_OK) {
        return wrong;
    }
    if (all.settings[space].erase(key) == 0) {
        return ESP_ERR_NVS_NOT_FOUND;
    }
    all.changed = true;
    // The firmware does not commit after this, and on a chip the entry is gone at once.
    all.save();
    return ESP_OK;
}

esp_err_t nvs_erase_all(nvs_handle_t handle) {
    auto& all = store();
    const std::lock_guard lock(all.mutex);
    std::string space;
    if (const esp_err_t wrong = writable(all, handle, space); wrong != ESP_OK) {
        return wrong;
    }
    all.settings[space].clear();
    all.changed = true;
    all.save();
    return ESP_OK;
}

esp_err_t nvs_get_str(nvs_handle_t handle, const char* key, char* out, size_t* length) {
    return get_bytes(handle, key, NvsType::text, out, length);
}

esp_err_t nvs_set_str(nvs_handle_t handle, const char* key, const char* value) {
    const size_t length = strlen(value) + 1;
    if (length > longest_text) {
        return ESP_ERR_NVS_VALUE_TOO_LONG;
    }
    return put(handle, key, NvsType::text, std::string(value, length));
}

esp_err_t nvs_get_blob(nvs_handle_t handle, const char* key, void* out, size_t* length) {
    return get_bytes(handle, key, NvsType::blob, out, length);
}

esp_err_t nvs_set_blob(nvs_handle_t handle, const char* key, const void* value, size_t length) {
    return put(handle, key, NvsType::blob, std::string(static_cast<const char*>(value), length));
}

#define KIT_NUMBER(name, type)                                                      \
    esp_err_t nvs_get_##name(nvs_handle_t handle, const char* key, type* out) {     \
        return get_number(handle, key, NvsType::name, out);                         \
    }                                                                               \
    esp_err_t nvs_set_##name(nvs_handle_t handle, const char* key, type value) {    \
        return put_number(handle, key, NvsType::name, value);                       \
    }

KIT_NUMBER(u8, uint8_t)
KIT_NUMBER(i8, int8_t)
KIT_NUMBER(u16, uint16_t)
KIT_NUMBER(i16, int16_t)
KIT_NUMBER(u32, uint32_t)
KIT_NUMBER(i32, int32_t)
KIT_NUMBER(u64, uint64_t)
KIT_NUMBER(i64, int64_t)

}  // extern "C"
