// A small firmware for tests of the host build: it boots, asks for its configuration, connects
// when the button is pressed, and answers MCP.
#pragma once

#include <freertos/FreeRTOS.h>
#include <freertos/event_groups.h>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "protocols/link.h"

enum DeviceState {
    kDeviceStateUnknown,
    kDeviceStateStarting,
    kDeviceStateActivating,
    kDeviceStateIdle,
    kDeviceStateConnecting,
    kDeviceStateListening,
    kDeviceStateSpeaking,
};

class Application {
public:
    static Application& GetInstance();

    void Initialize();
    void Run();
    DeviceState GetDeviceState() const { return state_; }
    bool CanEnterSleepMode() { return state_ == kDeviceStateIdle && !link_.connected(); }
    void Schedule(std::function<void()>&& call);
    void ToggleChatState();
    void SendMcpMessage(const std::string& payload);
    void Reboot();
    int volume() const { return volume_; }
    void SetVolume(int volume);

private:
    Application();
    void Activate();
    void Open();
    void OnText(const std::string& text);
    void SetState(DeviceState state);

    EventGroupHandle_t events_;
    std::mutex mutex_;
    std::deque<std::function<void()>> calls_;
    std::atomic<DeviceState> state_{kDeviceStateUnknown};
    WebSocketLink link_;
    std::string session_id_;
    std::atomic<int> volume_{70};
};
