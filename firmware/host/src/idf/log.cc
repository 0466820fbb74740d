#include "esp_log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <vector>

#include "esp_timer.h"
#include "kit.h"

namespace {

std::mutex& output() {
    static auto* mutex = new std::mutex;
    return *mutex;
}

void write_all(const char* text, size_t length) {
    while (length > 0) {
        const ssize_t written = ::write(STDOUT_FILENO, text, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return;
        }
        text += written;
        length -= static_cast<size_t>(written);
    }
}

}  // namespace

void kit::print(const std::string& line) {
    const std::lock_guard lock(output());
    fflush(stdout);
    write_all(line.data(), line.size());
}

void kit::print_raw(const char* text) { write_all(text, strlen(text)); }

extern "C" {

uint32_t esp_log_timestamp(void) { return static_cast<uint32_t>(esp_timer_get_time() / 1000); }

// The text is made in one buffer that all tasks share: on their own stacks it would take room that
// it does not take on a chip.
void kit_log(esp_log_level_t level, const char* tag, const char* format, ...) {
    static auto* line = new std::vector<char>(16384);
    const std::lock_guard lock(output());
    static const char letters[] = "NEWIDV";
    const int head = snprintf(line->data(), line->size(), "%c (%u) %s: ", letters[level],
                              esp_log_timestamp(), tag);
    if (head < 0 || static_cast<size_t>(head) + 2 > line->size()) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    int body = vsnprintf(line->data() + head, line->size() - head - 1, format, arguments);
    va_end(arguments);
    if (body < 0) {
        body = 0;
    }
    const size_t needed = static_cast<size_t>(head) + static_cast<size_t>(body) + 2;
    if (needed > line->size()) {
        line->resize(needed);
        va_start(arguments, format);
        vsnprintf(line->data() + head, line->size() - head - 1, format, arguments);
        va_end(arguments);
    }
    size_t length = static_cast<size_t>(head) + static_cast<size_t>(body);
    (*line)[length++] = '\n';
    fflush(stdout);
    write_all(line->data(), length);
}

void esp_log_level_set(const char*, esp_log_level_t) {}

esp_log_level_t esp_log_level_get(const char*) { return ESP_LOG_INFO; }

const char* esp_err_to_name(esp_err_t code) {
    static const std::map<esp_err_t, const char*> names = {
        {0, "ESP_OK"},
        {-1, "ESP_FAIL"},
        {0x101, "ESP_ERR_NO_MEM"},
        {0x102, "ESP_ERR_INVALID_ARG"},
        {0x103, "ESP_ERR_INVALID_STATE"},
        {0x104, "ESP_ERR_INVALID_SIZE"},
        {0x105, "ESP_ERR_NOT_FOUND"},
        {0x106, "ESP_ERR_NOT_SUPPORTED"},
        {0x107, "ESP_ERR_TIMEOUT"},
        {0x108, "ESP_ERR_INVALID_RESPONSE"},
        {0x109, "ESP_ERR_INVALID_CRC"},
        {0x1101, "ESP_ERR_NVS_NOT_INITIALIZED"},
        {0x1102, "ESP_ERR_NVS_NOT_FOUND"},
        {0x1103, "ESP_ERR_NVS_TYPE_MISMATCH"},
        {0x1104, "ESP_ERR_NVS_READ_ONLY"},
        {0x1105, "ESP_ERR_NVS_NOT_ENOUGH_SPACE"},
        {0x1106, "ESP_ERR_NVS_INVALID_NAME"},
        {0x1107, "ESP_ERR_NVS_INVALID_HANDLE"},
        {0x1109, "ESP_ERR_NVS_KEY_TOO_LONG"},
        {0x110c, "ESP_ERR_NVS_INVALID_LENGTH"},
        {0x110d, "ESP_ERR_NVS_NO_FREE_PAGES"},
        {0x110e, "ESP_ERR_NVS_VALUE_TOO_LONG"},
        {0x1503, "ESP_ERR_OTA_VALIDATE_FAILED"},
        {0x8004, "ESP_ERR_ESP_TLS_FAILED_CONNECT_TO_HOST"},
    };
    const auto found = names.find(code);
    return found == names.end() ? "UNKNOWN ERROR" : found->second;
}

const char* esp_err_to_name_r(esp_err_t code, char* buf, size_t buflen) {
    snprintf(buf, buflen, "%s", esp_err_to_name(code));
    return buf;
}

}  // extern "C"
