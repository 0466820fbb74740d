#include "application.h"

#include <esp_app_desc.h>
#include <esp_flash.h>
#include <esp_log.h>
#include <esp_mac.h>
#include <esp_ota_ops.h>
#include <esp_random.h>
#include <esp_system.h>
#include <esp_timer.h>
#include <nvs_flash.h>

#include "assets/lang_config.h"
#include "json.h"
#include "mcp_server.h"

namespace {

constexpr const char* tag = "Application";
constexpr EventBits_t call_bit = 1;
constexpr EventBits_t hello_bit = 2;
constexpr const char* names[] = {"unknown",    "starting",  "activating", "idle",
                                 "connecting", "listening", "speaking"};

std::string setting(const char* space, const char* key) {
    nvs_handle_t handle = 0;
    std::string value;
    size_t length = 0;
    if (nvs_open(space, NVS_READONLY, &handle) != ESP_OK) {
        return value;
    }
    if (nvs_get_str(handle, key, nullptr, &length) == ESP_OK) {
        value.resize(length);
        ESP_ERROR_CHECK(nvs_get_str(handle, key, value.data(), &length));
        value.resize(length - 1);
    }
    nvs_close(handle);
    return value;
}

void set_setting(const char* space, const std::string& key, const std::string& value) {
    nvs_handle_t handle = 0;
    ESP_ERROR_CHECK(nvs_open(space, NVS_READWRITE, &handle));
    ESP_ERROR_CHECK(nvs_set_str(handle, key.c_str(), value.c_str()));
    ESP_ERROR_CHECK(nvs_commit(handle));
    nvs_close(handle);
}

std::string mac_address() {
    uint8_t mac[6];
    esp_read_mac(mac, ESP_MAC_WIFI_STA);
    char text[18];
    snprintf(text, sizeof text, MACSTR, MAC2STR(mac));
    return text;
}

std::string identity() {
    return "Device-Id: " + mac_address() + "\r\nClient-Id: " + setting("board", "uuid") + "\r\n";
}

std::string description() {
    const auto* app = esp_app_get_description();
    uint32_t flash = 0;
    esp_flash_get_size(nullptr, &flash);
    return "{\"version\":2,\"language\":" + quoted(Lang::CODE) +
           ",\"flash_size\":" + std::to_string(flash) + ",\"minimum_free_heap_size\":\"" +
           std::to_string(esp_get_minimum_free_heap_size()) + "\",\"mac_address\":" +
           quoted(mac_address()) + ",\"uuid\":" + quoted(setting("board", "uuid")) +
           ",\"chip_model_name\":\"esp32s3\",\"application\":{\"name\":" + quoted(app->project_name) +
           ",\"version\":" + quoted(app->version) + "},\"ota\":{\"label\":" +
           quoted(esp_ota_get_running_partition()->label) +
           "},\"board\":{\"type\":\"mini\",\"name\":\"mini\",\"mac\":" + quoted(mac_address()) + "}}";
}

}  // namespace

Application::Application() : events_(xEventGroupCreate()) {}

Application& Application::GetInstance() {
    static Application application;
    return application;
}

void Application::SetState(DeviceState state) {
    ESP_LOGI("StateMachine", "State: %s -> %s", names[state_], names[state]);
    state_ = state;
}

void Application::Initialize() {
    SetState(kDeviceStateStarting);
    if (setting("board", "uuid").empty()) {
        char uuid[37];
        uint16_t part[8];
        esp_fill_random(part, sizeof part);
        snprintf(uuid, sizeof uuid, "%04x%04x-%04x-4%03x-a%03x-%04x%04x%04x", part[0], part[1],
                 part[2], part[3] & 0xfff, part[4] & 0xfff, part[5], part[6], part[7]);
        set_setting("board", "uuid", uuid);
    }
    ESP_LOGI("Board", "UUID=%s SKU=mini", setting("board", "uuid").c_str());
    nvs_handle_t handle = 0;
    if (nvs_open("audio", NVS_READONLY, &handle) == ESP_OK) {
        int32_t volume = volume_;
        nvs_get_i32(handle, "output_volume", &volume);
        volume_ = volume;
        nvs_close(handle);
    }
    McpServer::GetInstance().LogTools();
    esp_timer_create_args_t arguments = {};
    arguments.callback = [](void*) {
        ESP_LOGI("SystemInfo", "free sram: %u minimal sram: %u", (unsigned)esp_get_free_heap_size(),
                 (unsigned)esp_get_minimum_free_heap_size());
    };
    arguments.name = "heartbeat";
    esp_timer_handle_t heartbeat = nullptr;
    ESP_ERROR_CHECK(esp_timer_create(&arguments, &heartbeat));
    ESP_ERROR_CHECK(esp_timer_start_periodic(heartbeat, 10 * 1000 * 1000));
    const auto activate = [](void* application) {
        static_cast<Application*>(application)->Activate();
        vTaskDelete(nullptr);
    };
    xTaskCreate(activate, "activation", 8192, this, 2, nullptr);
}

void Application::Activate() {
    SetState(kDeviceStateActivating);
    for (int pause = 1; true; pause *= 2) {
        ESP_LOGI("Ota", "Current version: %s", esp_app_get_description()->version);
        const auto answer = parse_json(post(setting("wifi", "ota_url"), identity(), description()));
        const Json* section = answer ? answer->find("websocket") : nullptr;
        if (section != nullptr) {
            for (const auto& [key, value] : section->members) {
                if (value.kind == Json::text) {
                    set_setting("websocket", key, value.raw);
                }
            }
            break;
        }
        ESP_LOGW(tag, "Check new version failed, retry in %d seconds", pause);
        vTaskDelay(pdMS_TO_TICKS(pause * 1000));
    }
    Schedule([this] {
        ESP_LOGI(tag, "Activation done");
        SetState(kDeviceStateIdle);
    });
}

void Application::Run() {
    while (true) {
        xEventGroupWaitBits(events_, call_bit, pdTRUE, pdFALSE, portMAX_DELAY);
        std::deque<std::function<void()>> calls;
        {
            const std::lock_guard lock(mutex_);
            calls.swap(calls_);
        }
        for (auto& call : calls) {
            call();
        }
    }
}

void Application::Schedule(std::function<void()>&& call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    xEventGroupSetBits(events_, call_bit);
}

void Application::ToggleChatState() {
    Schedule([this] {
        if (state_ == kDeviceStateIdle) {
            Open();
        } else if (state_ == kDeviceStateListening || state_ == kDeviceStateSpeaking) {
            link_.close();
        }
    });
}

void Application::Open() {
    SetState(kDeviceStateConnecting);
    const std::string url = setting("websocket", "url");
    const std::string token = setting("websocket", "token");
    ESP_LOGI("WS", "Connecting to websocket server: %s with version: 1", url.c_str());
    const std::string headers = (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") +
                                identity() + "Protocol-Version: 1\r\n";
    xEventGroupClearBits(events_, hello_bit);
    const auto ended = [this] {
        Schedule([this] {
            if (state_ != kDeviceStateIdle && !link_.connected()) {
                SetState(kDeviceStateIdle);
            }
        });
    };
    const bool open = link_.open(
        url, headers, [this](const std::string& text) { OnText(text); }, ended);
    if (open) {
        link_.send("{\"type\":\"hello\",\"version\":1,\"features\":{\"mcp\":true},"
                   "\"transport\":\"websocket\",\"audio_params\":{\"format\":\"opus\","
                   "\"sample_rate\":16000,\"channels\":1,\"frame_duration\":60}}");
    }
    const auto bits = open ? xEventGroupWaitBits(events_, hello_bit, pdTRUE, pdFALSE,
                                                 pdMS_TO_TICKS(10000))
                           : 0;
    if ((bits & hello_bit) == 0) {
        ESP_LOGE("WS", "Failed to receive server hello");
        link_.close();
        SetState(kDeviceStateIdle);
        return;
    }
    SetState(kDeviceStateListening);
    link_.send("{\"session_id\":" + quoted(session_id_) +
               ",\"type\":\"listen\",\"state\":\"start\",\"mode\":\"auto\"}");
}

void Application::OnText(const std::string& text) {
    const auto message = parse_json(text);
    const std::string type = message ? message->text_of("type") : "";
    if (type == "hello" && message->text_of("transport") == "websocket") {
        session_id_ = message->text_of("session_id");
        ESP_LOGI("WS", "Session ID: %s", session_id_.c_str());
        xEventGroupSetBits(events_, hello_bit);
    } else if (type == "mcp") {
        const Json* payload = message->find("payload");
        if (payload != nullptr && payload->kind == Json::object) {
            McpServer::GetInstance().Answer(*payload);
        }
    } else if (type == "tts") {
        const bool start = message->text_of("state") == "start";
        Schedule([this, start] {
            if (link_.connected()) {
                SetState(start ? kDeviceStateSpeaking : kDeviceStateListening);
            }
        });
    } else if (type.empty()) {
        ESP_LOGE("WS", "Missing message type, data: %s", text.c_str());
    } else {
        ESP_LOGW(tag, "Unknown message type: %s", type.c_str());
    }
}

void Application::SendMcpMessage(const std::string& payload) {
    Schedule([this, payload] {
        link_.send("{\"session_id\":" + quoted(session_id_) + ",\"type\":\"mcp\",\"payload\":" +
                   payload + "}");
    });
}

void Application::SetVolume(int volume) {
    volume_ = volume;
    ESP_LOGI("AudioCodec", "Set output volume to %d", volume);
    nvs_handle_t handle = 0;
    ESP_ERROR_CHECK(nvs_open("audio", NVS_READWRITE, &handle));
    ESP_ERROR_CHECK(nvs_set_i32(handle, "output_volume", volume));
    ESP_ERROR_CHECK(nvs_commit(handle));
    nvs_close(handle);
}

void Application::Reboot() {
    ESP_LOGI(tag, "Rebooting...");
    link_.close();
    esp_restart();
}
