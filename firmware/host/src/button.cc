// The button that starts a conversation. On a board a finger or a wire presses it.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "application.h"
#include "idf/kit.h"

namespace {

using std::chrono::milliseconds;

constexpr milliseconds look_every{20};
constexpr milliseconds idle_for{100};
constexpr milliseconds longest_pause{5000};

// The configuration has said WebSocket: only then does the firmware open this namespace to write,
// and with a section for MQTT too, it takes MQTT.
bool uses_websocket() {
    return kit::nvs_written_namespace("websocket") && !kit::nvs_written_namespace("mqtt");
}

// Runs in the main task, like what it asks.
void press_if_nothing_is_open(std::atomic<bool>& pressed) {
    auto& application = Application::GetInstance();
    if (application.CanEnterSleepMode()) {
        pressed = true;
        application.ToggleChatState();
    }
}

void press_when_idle() {
    static std::atomic<bool> pressed{false};
    auto& application = Application::GetInstance();
    milliseconds idle{0};
    milliseconds pause = idle_for;
    while (true) {
        std::this_thread::sleep_for(look_every);
        const auto state = application.GetDeviceState();
        if (state != kDeviceStateIdle || !uses_websocket()) {
            idle = milliseconds{0};
            if (state == kDeviceStateListening || state == kDeviceStateSpeaking) {
                pause = idle_for;
            }
            continue;
        }
        idle += look_every;
        if (idle < pause) {
            continue;
        }
        idle = milliseconds{0};
        pressed = false;
        application.Schedule([] { press_if_nothing_is_open(pressed); });
        std::this_thread::sleep_for(look_every);
        // Nobody answers: a device that tries several times a second only fills the log.
        if (pressed) {
            pause = std::min(pause * 2, longest_pause);
        }
    }
}

void press_at_each_line() {
    std::string line;
    while (std::getline(std::cin, line)) {
        Application::GetInstance().ToggleChatState();
    }
}

}  // namespace

void kit::press_button_in_background() {
    const auto mode = environment("MCP_HIL_BUTTON", "auto");
    if (mode == "auto") {
        std::thread(press_when_idle).detach();
    } else if (mode == "stdin") {
        std::thread(press_at_each_line).detach();
    } else if (mode != "none") {
        print("E (0) host: MCP_HIL_BUTTON: expected auto, stdin or none, got " + mode + "\n");
    }
}
