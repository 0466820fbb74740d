// Sleep that ends at once, as if somebody had pressed the button.
#include "esp_sleep.h"

#include <atomic>

#include "esp_log.h"
#include "esp_system.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

namespace {

constexpr const char* tag = "sleep";
std::atomic<bool> slept{false};

}  // namespace

extern "C" {

void esp_deep_sleep_start(void) {
    ESP_LOGW(tag, "Deep sleep. The button wakes the device, and it starts anew");
    // A device that does so whenever it starts must not fill the log.
    vTaskDelay(pdMS_TO_TICKS(1000));
    esp_restart();
}

void esp_deep_sleep(uint64_t) { esp_deep_sleep_start(); }

esp_err_t esp_light_sleep_start(void) {
    vTaskDelay(pdMS_TO_TICKS(100));
    slept = true;
    return ESP_OK;
}

esp_sleep_wakeup_cause_t esp_sleep_get_wakeup_cause(void) {
    return slept ? ESP_SLEEP_WAKEUP_GPIO : ESP_SLEEP_WAKEUP_UNDEFINED;
}

uint32_t esp_sleep_get_wakeup_causes(void) { return 1U << esp_sleep_get_wakeup_cause(); }

}  // extern "C"
