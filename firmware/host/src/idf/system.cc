// Who the device is, what its flash looks like, and how it starts again.
#include "esp_system.h"

#include <sys/random.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "esp_chip_info.h"
#include "esp_crt_bundle.h"
#include "esp_flash.h"
#include "esp_idf_version.h"
#include "esp_log.h"
#include "esp_mac.h"
#include "esp_ota_ops.h"
#include "esp_pthread.h"
#include "esp_random.h"
#include "kit.h"

namespace {

// Tells the program that starts after esp_restart() that no power came on.
constexpr const char* restarted = "MCP_HIL_RESTARTED";

char** arguments = nullptr;
std::vector<shutdown_handler_t> shutdown_handlers;

bool came_from_restart() {
    static const bool was = [] {
        const bool set = getenv(restarted) != nullptr;
        unsetenv(restarted);
        return set;
    }();
    return was;
}

}  // namespace

void kit::remember_arguments(char** given) {
    arguments = given;
    came_from_restart();
}

std::string kit::environment(const char* name, const char* otherwise) {
    const char* value = getenv(name);
    return value == nullptr || *value == '\0' ? otherwise : value;
}

const std::string& kit::elf_sha256() {
    static const std::string digest = [] {
        std::string text;
        for (const uint8_t byte : kit::sha256_of_file("/proc/self/exe")) {
            char pair[3];
            snprintf(pair, sizeof pair, "%02x", byte);
            text += pair;
        }
        return text;
    }();
    return digest;
}

void kit::print_boot_banner() {
    const auto* app = esp_app_get_description();
    print("ESP-ROM:host\n");
    print(came_from_restart() ? "rst:0x3 (RTC_SW_SYS_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)\n"
                              : "rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)\n");
    ESP_LOGI("cpu_start", "Multicore app");
    ESP_LOGI("app_init", "Application information:");
    ESP_LOGI("app_init", "Project name:     %s", app->project_name);
    ESP_LOGI("app_init", "App version:      %s", app->version);
    ESP_LOGI("app_init", "Compile time:     %s %s", app->date, app->time);
    ESP_LOGI("app_init", "ELF file SHA256:  %.9s...", elf_sha256().c_str());
    ESP_LOGI("app_init", "ESP-IDF:          %s", app->idf_ver);
    ESP_LOGI("main_task", "Started on CPU0");
    ESP_LOGI("main_task", "Calling app_main()");
}

extern "C" {

// The program replaces itself: same process, same console, settings from the file.
void esp_restart(void) {
    for (const auto handler : shutdown_handlers) {
        handler();
    }
    kit::nvs_flush();
    fflush(nullptr);
    const long open_files = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < (open_files < 4096 ? open_files : 4096); ++fd) {
        close(fd);
    }
    setenv(restarted, "1", 1);
    execv("/proc/self/exe", arguments);
    kit::print("cannot start again: " + std::string(strerror(errno)) + "\n");
    abort();
}

esp_reset_reason_t esp_reset_reason(void) {
    return came_from_restart() ? ESP_RST_SW : ESP_RST_POWERON;
}

esp_err_t esp_register_shutdown_handler(shutdown_handler_t handler) {
    shutdown_handlers.push_back(handler);
    return ESP_OK;
}

const char* esp_get_idf_version(void) { return esp_app_get_description()->idf_ver; }

const esp_app_desc_t* esp_app_get_description(void) {
    static const esp_app_desc_t description = [] {
        esp_app_desc_t made = {};
        made.magic_word = 0xABCD5432;
        strncpy(made.version, KIT_PROJECT_VER, sizeof made.version - 1);
        strncpy(made.project_name, "xiaozhi", sizeof made.project_name - 1);
        strncpy(made.time, __TIME__, sizeof made.time - 1);
        strncpy(made.date, __DATE__, sizeof made.date - 1);
        snprintf(made.idf_ver, sizeof made.idf_ver, "v%d.%d.%d-host", ESP_IDF_VERSION_MAJOR,
                 ESP_IDF_VERSION_MINOR, ESP_IDF_VERSION_PATCH);
        const auto& digest = kit::elf_sha256();
        for (size_t at = 0; at < sizeof made.app_elf_sha256; ++at) {
            made.app_elf_sha256[at] =
                static_cast<uint8_t>(strtoul(digest.substr(at * 2, 2).c_str(), nullptr, 16));
        }
        return made;
    }();
    return &description;
}

// Locally administered, and different for programs in different folders, so that two of them can
// run beside each other.
esp_err_t esp_read_mac(uint8_t* mac, esp_mac_type_t) {
    const std::string given = kit::environment("MCP_HIL_MAC");
    unsigned part[6];
    if (sscanf(given.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x", &part[0], &part[1], &part[2], &part[3],
               &part[4], &part[5]) == 6) {
        for (int at = 0; at < 6; ++at) {
            mac[at] = static_cast<uint8_t>(part[at]);
        }
        return ESP_OK;
    }
    char path[PATH_MAX] = {};
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    uint64_t hash = 0xcbf29ce484222325;
    for (ssize_t at = 0; at < length; ++at) {
        hash = (hash ^ static_cast<uint8_t>(path[at])) * 0x100000001b3;
    }
    mac[0] = 0x02;
    for (int at = 1; at < 6; ++at) {
        mac[at] = static_cast<uint8_t>(hash >> (at * 8));
    }
    return ESP_OK;
}

esp_err_t esp_efuse_mac_get_default(uint8_t* mac) { return esp_read_mac(mac, ESP_MAC_BASE); }

void esp_chip_info(esp_chip_info_t* out) {
    *out = {};
    out->model = CHIP_ESP32S3;
    out->features = 0x12;
    out->revision = 2;
    out->cores = 2;
}

uint32_t esp_random(void) {
    uint32_t value = 0;
    esp_fill_random(&value, sizeof value);
    return value;
}

void esp_fill_random(void* buffer, size_t length) {
    auto* bytes = static_cast<uint8_t*>(buffer);
    while (length > 0) {
        const ssize_t got = getrandom(bytes, length, 0);
        if (got > 0) {
            bytes += got;
            length -= static_cast<size_t>(got);
        }
    }
}

esp_err_t esp_flash_get_size(esp_flash_t*, uint32_t* size) {
    *size = 16 * 1024 * 1024;
    return ESP_OK;
}

esp_err_t esp_crt_bundle_attach(void*) { return ESP_OK; }

esp_pthread_cfg_t esp_pthread_get_default_config(void) { return {}; }
esp_err_t esp_pthread_set_cfg(const esp_pthread_cfg_t*) { return ESP_OK; }

}  // extern "C"
