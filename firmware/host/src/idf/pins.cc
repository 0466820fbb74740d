// Pins and the brightness of a backlight: remembered, so that they can be read back.
#include <array>
#include <atomic>

#include "driver/gpio.h"
#include "driver/ledc.h"

namespace {

std::array<std::atomic<uint32_t>, GPIO_NUM_MAX> levels;
std::array<std::atomic<uint32_t>, LEDC_CHANNEL_MAX> duties;

bool exists(gpio_num_t pin) { return pin >= 0 && pin < GPIO_NUM_MAX; }

}  // namespace

extern "C" {

esp_err_t gpio_config(const gpio_config_t* config) {
    return config->pin_bit_mask == 0 ? ESP_ERR_INVALID_ARG : ESP_OK;
}

esp_err_t gpio_set_level(gpio_num_t pin, uint32_t level) {
    if (!exists(pin)) {
        return ESP_ERR_INVALID_ARG;
    }
    levels[static_cast<size_t>(pin)] = level != 0;
    return ESP_OK;
}

int gpio_get_level(gpio_num_t pin) {
    return exists(pin) ? static_cast<int>(levels[static_cast<size_t>(pin)]) : 0;
}

esp_err_t gpio_set_direction(gpio_num_t, gpio_mode_t) { return ESP_OK; }
esp_err_t gpio_reset_pin(gpio_num_t) { return ESP_OK; }

esp_err_t ledc_timer_config(const ledc_timer_config_t*) { return ESP_OK; }
esp_err_t ledc_channel_config(const ledc_channel_config_t*) { return ESP_OK; }
esp_err_t ledc_set_duty(ledc_mode_t, ledc_channel_t channel, uint32_t duty) {
    duties[channel] = duty;
    return ESP_OK;
}
esp_err_t ledc_update_duty(ledc_mode_t, ledc_channel_t) { return ESP_OK; }
uint32_t ledc_get_duty(ledc_mode_t, ledc_channel_t channel) { return duties[channel]; }
esp_err_t ledc_stop(ledc_mode_t, ledc_channel_t, uint32_t) { return ESP_OK; }

}  // extern "C"
