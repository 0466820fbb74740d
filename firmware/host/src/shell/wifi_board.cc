// The network of a board, and what the firmware's Wi-Fi boards tell of themselves.
#include "wifi_board.h"

#include <esp_log.h>
#include <esp_network.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>

#include <cstdio>

#include "audio_codec.h"
#include "backlight.h"
#include "display.h"
#include "system_info.h"

namespace {

constexpr const char* tag = "HostBoard";
constexpr const char* network_name = "host";

// Nothing here says more than names that a header or a board has chosen.
std::string member(const char* name, const std::string& value) {
    std::string text = "\"" + std::string(name) + "\":\"";
    for (const char letter : value) {
        if (letter == '"' || letter == '\\') {
            text += '\\';
        }
        text += letter;
    }
    return text + "\"";
}

std::string member(const char* name, double value) {
    char text[64];
    snprintf(text, sizeof text, "\"%s\":%.15g", name, value);
    return text;
}

}  // namespace

WifiBoard::WifiBoard() { ESP_LOGI(tag, "Board: %s", BOARD_NAME); }

NetworkInterface* WifiBoard::GetNetwork() {
    static EspNetwork network;
    return &network;
}

void WifiBoard::EnterWifiConfigMode() {
    ESP_LOGW(tag, "There is no configuration mode on this host: the network stays");
}

#if KIT_NETWORK_EVENTS
void WifiBoard::SetNetworkEventCallback(NetworkEventCallback callback) {
    network_event_callback_ = std::move(callback);
}

void WifiBoard::OnNetworkEvent(NetworkEvent event, const std::string& data) {
    if (network_event_callback_) {
        network_event_callback_(event, data);
    }
}

// From a task of its own and in the order of a board that joins a network it knows.
void WifiBoard::StartNetwork() {
    const auto join = [](void* self) {
        auto* board = static_cast<WifiBoard*>(self);
        board->OnNetworkEvent(NetworkEvent::Scanning, "");
        vTaskDelay(pdMS_TO_TICKS(50));
        board->OnNetworkEvent(NetworkEvent::Connecting, network_name);
        vTaskDelay(pdMS_TO_TICKS(100));
        ESP_LOGI(tag, "Network is up: 127.0.0.1");
        board->OnNetworkEvent(NetworkEvent::Connected, network_name);
        vTaskDelete(nullptr);
    };
    xTaskCreate(join, "network", 4096, this, 5, nullptr);
}

#else

// Earlier versions wait here until the network is up, which it is.
void WifiBoard::StartNetwork() { ESP_LOGI(tag, "Network is up: 127.0.0.1"); }

#endif

std::string WifiBoard::GetBoardJson() {
    return "{" + member("type", BOARD_TYPE) + "," + member("name", BOARD_NAME) + "," +
           member("manufacturer", BOARD_MANUFACTURER) + "," + member("ssid", network_name) +
           ",\"rssi\":-40,\"channel\":1," + member("ip", "127.0.0.1") + "," +
           member("mac", SystemInfo::GetMacAddress()) + "}";
}

// The members that the firmware's Wi-Fi boards report, under the same conditions.
std::string WifiBoard::GetDeviceStatusJson() {
    std::string speaker;
    if (auto* codec = GetAudioCodec()) {
        speaker = member("volume", codec->output_volume());
    }
    std::string screen;
    if (auto* backlight = GetBacklight()) {
        screen = member("brightness", backlight->brightness());
    }
    auto* display = GetDisplay();
    if (display != nullptr && display->height() > 64 && display->GetTheme() != nullptr) {
        screen += (screen.empty() ? "" : ",") + member("theme", display->GetTheme()->name());
    }
    std::string status = "{\"audio_speaker\":{" + speaker + "},\"screen\":{" + screen + "}";
    int level = 0;
    bool charging = false;
    bool discharging = false;
    if (GetBatteryLevel(level, charging, discharging)) {
        status += ",\"battery\":{" + member("level", level) +
                  ",\"charging\":" + (charging ? "true" : "false") + "}";
    }
    status += ",\"network\":{" + member("type", "wifi") + "," + member("ssid", network_name) + "," +
              member("signal", "strong") + "}";
    float temperature = 0;
    if (GetTemperature(temperature)) {
        status += ",\"chip\":{" + member("temperature", temperature) + "}";
    }
    return status + "}";
}
