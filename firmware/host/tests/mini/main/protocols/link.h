// The two connections of the device: one request by HTTP, and a WebSocket.
#pragma once

#include <freertos/FreeRTOS.h>
#include <freertos/event_groups.h>
#include <freertos/semphr.h>

#include <atomic>
#include <functional>
#include <string>

struct Url {
    std::string host;
    int port = 80;
    std::string path = "/";
};

Url split_url(const std::string& url);

/// The body of the answer, or nothing where the status is not 200.
std::string post(const std::string& url, const std::string& headers, const std::string& body);

class WebSocketLink {
public:
    WebSocketLink();
    /// `on_text` runs in a task of its own, `on_end` too, once.
    bool open(const std::string& url, const std::string& headers,
              std::function<void(const std::string&)> on_text, std::function<void()> on_end);
    bool send(const std::string& text) { return send_frame(1, text); }
    void close();
    bool connected() const { return connected_; }

private:
    bool send_frame(unsigned opcode, const std::string& payload);
    void receive();

    int socket_ = -1;
    std::atomic<bool> connected_{false};
    SemaphoreHandle_t sending_;
    EventGroupHandle_t ended_;
    std::function<void(const std::string&)> on_text_;
    std::function<void()> on_end_;
};
