#include "host_board.h"

#include <cJSON.h>
#include <esp_log.h>
#include <esp_network.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>

#include "backlight.h"
#include "system_info.h"

namespace {

constexpr const char* tag = "HostBoard";
constexpr const char* network_name = "host";

}  // namespace

HostCodec::HostCodec() {
    input_sample_rate_ = 16000;
    output_sample_rate_ = 24000;
}

int HostCodec::Read(int16_t*, int samples) { return samples; }
int HostCodec::Write(const int16_t*, int samples) { return samples; }

HostBoard::HostBoard() { ESP_LOGI(tag, "Board: %s", BOARD_NAME); }

AudioCodec* HostBoard::GetAudioCodec() {
    static HostCodec codec;
    return &codec;
}

NetworkInterface* HostBoard::GetNetwork() {
    static EspNetwork network;
    return &network;
}

#if KIT_NETWORK_EVENTS
void HostBoard::SetNetworkEventCallback(NetworkEventCallback callback) {
    network_event_ = std::move(callback);
}

// From a task of its own and in the order of a board that joins a network it knows.
void HostBoard::StartNetwork() {
    const auto join = [](void* board) {
        auto& event = static_cast<HostBoard*>(board)->network_event_;
        if (event) {
            event(NetworkEvent::Scanning, "");
            vTaskDelay(pdMS_TO_TICKS(50));
            event(NetworkEvent::Connecting, network_name);
            vTaskDelay(pdMS_TO_TICKS(100));
            ESP_LOGI(tag, "Network is up: 127.0.0.1");
            event(NetworkEvent::Connected, network_name);
        }
        vTaskDelete(nullptr);
    };
    xTaskCreate(join, "network", 4096, this, 5, nullptr);
}

#else

// Earlier versions wait here until the network is up, which it is.
void HostBoard::StartNetwork() { ESP_LOGI(tag, "Network is up: 127.0.0.1"); }

#endif

std::string HostBoard::GetBoardJson() {
    const auto text = [](const char* name, const std::string& value) {
        return "\"" + std::string(name) + "\":\"" + value + "\"";
    };
    return "{" + text("type", BOARD_TYPE) + "," + text("name", BOARD_NAME) + "," +
           text("manufacturer", BOARD_MANUFACTURER) + "," + text("ssid", network_name) +
           ",\"rssi\":-40,\"channel\":1," + text("ip", "127.0.0.1") + "," +
           text("mac", SystemInfo::GetMacAddress()) + "}";
}

// The members that the firmware's Wi-Fi boards report.
std::string HostBoard::GetDeviceStatusJson() {
    cJSON* root = cJSON_CreateObject();
    cJSON* speaker = cJSON_AddObjectToObject(root, "audio_speaker");
    cJSON_AddNumberToObject(speaker, "volume", GetAudioCodec()->output_volume());
    cJSON* screen = cJSON_AddObjectToObject(root, "screen");
    if (auto* backlight = GetBacklight()) {
        cJSON_AddNumberToObject(screen, "brightness", backlight->brightness());
    }
    auto* display = GetDisplay();
    if (display != nullptr && display->GetTheme() != nullptr) {
        cJSON_AddStringToObject(screen, "theme", display->GetTheme()->name().c_str());
    }
    cJSON* network = cJSON_AddObjectToObject(root, "network");
    cJSON_AddStringToObject(network, "type", "wifi");
    cJSON_AddStringToObject(network, "ssid", network_name);
    cJSON_AddStringToObject(network, "signal", "strong");
    char* text = cJSON_PrintUnformatted(root);
    std::string result(text);
    cJSON_free(text);
    cJSON_Delete(root);
    return result;
}
