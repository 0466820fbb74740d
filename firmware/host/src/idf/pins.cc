// Pins and the brightness of a backlight: remembered, so that they can be read back.
#include <array>
#include <atomic>

#include "driver/gpio.h"
#include "driver/ledc.h"

namespace {

// Nobody has pressed anything: an input is what its resistor makes of it. Most buttons pull down.
constexpr uint32_t released = 1;

struct Pin {
    std::atomic<uint32_t> level{released};
};

std::array<Pin, GPIO_NUM_MAX> pins;
std::array<std::atomic<uint32_t>, LEDC_CHANNEL_MAX> duties;

bool exists(gpio_num_t pin) { return pin >= 0 && pin < GPIO_NUM_MAX; }

// An output is low until it is set.
void become(gpio_num_t pin, gpio_mode_t mode, bool pulled_down) {
    const bool output = (mode & GPIO_MODE_OUTPUT) != 0;
    pins[static_cast<size_t>(pin)].level = output || pulled_down ? 0 : released;
}

}  // namespace

extern "C" {

esp_err_t gpio_config(const gpio_config_t* config) {
    for (int pin = 0; pin < GPIO_NUM_MAX; ++pin) {
        if ((config->pin_bit_mask >> pin & 1) != 0) {
            const bool down = config->pull_down_en == GPIO_PULLDOWN_ENABLE &&
                              config->pull_up_en != GPIO_PULLUP_ENABLE;
            become(static_cast<gpio_num_t>(pin), config->mode, down);
        }
    }
    return config->pin_bit_mask == 0 ? ESP_ERR_INVALID_ARG : ESP_OK;
}

esp_err_t gpio_set_level(gpio_num_t pin, uint32_t level) {
    if (!exists(pin)) {
        return ESP_ERR_INVALID_ARG;
    }
    pins[static_cast<size_t>(pin)].level = level != 0;
    return ESP_OK;
}

int gpio_get_level(gpio_num_t pin) {
    return exists(pin) ? static_cast<int>(pins[static_cast<size_t>(pin)].level) : 0;
}

esp_err_t gpio_set_direction(gpio_num_t pin, gpio_mode_t mode) {
    if (!exists(pin)) {
        return ESP_ERR_INVALID_ARG;
    }
    if (mode == GPIO_MODE_INPUT) {
        become(pin, mode, false);
    }
    return ESP_OK;
}

esp_err_t gpio_set_pull_mode(gpio_num_t pin, gpio_pull_mode_t pull) {
    if (!exists(pin)) {
        return ESP_ERR_INVALID_ARG;
    }
    become(pin, GPIO_MODE_INPUT, pull == GPIO_PULLDOWN_ONLY);
    return ESP_OK;
}

esp_err_t gpio_reset_pin(gpio_num_t pin) {
    if (!exists(pin)) {
        return ESP_ERR_INVALID_ARG;
    }
    become(pin, GPIO_MODE_INPUT, false);
    return ESP_OK;
}

esp_err_t ledc_timer_config(const ledc_timer_config_t*) { return ESP_OK; }
esp_err_t ledc_channel_config(const ledc_channel_config_t*) { return ESP_OK; }
esp_err_t ledc_set_duty(ledc_mode_t, ledc_channel_t channel, uint32_t duty) {
    if (channel < 0 || channel >= LEDC_CHANNEL_MAX) {
        return ESP_ERR_INVALID_ARG;
    }
    duties[channel] = duty;
    return ESP_OK;
}
esp_err_t ledc_update_duty(ledc_mode_t, ledc_channel_t) { return ESP_OK; }
uint32_t ledc_get_duty(ledc_mode_t, ledc_channel_t channel) {
    return channel >= 0 && channel < LEDC_CHANNEL_MAX ? duties[channel].load() : 0;
}
esp_err_t ledc_stop(ledc_mode_t, ledc_channel_t, uint32_t) { return ESP_OK; }

}  // extern "C"
