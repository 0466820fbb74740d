#include "link.h"

#include <arpa/inet.h>
#include <esp_log.h>
#include <esp_random.h>
#include <mbedtls/base64.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace {

constexpr const char* tag = "WS";
constexpr EventBits_t ended_bit = 1;

int connect_to(const Url& url) {
    hostent* found = gethostbyname(url.host.c_str());
    if (found == nullptr) {
        return -1;
    }
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(url.port));
    memcpy(&address.sin_addr, found->h_addr, static_cast<size_t>(found->h_length));
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        close(made);
        return -1;
    }
    return made;
}

bool send_all(int socket, const std::string& bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
        const ssize_t now = send(socket, bytes.data() + sent, bytes.size() - sent, 0);
        if (now <= 0) {
            return false;
        }
        sent += static_cast<size_t>(now);
    }
    return true;
}

bool receive_exactly(int socket, std::string& out, size_t length) {
    out.resize(length);
    size_t got = 0;
    while (got < length) {
        const ssize_t now = recv(socket, out.data() + got, length - got, 0);
        if (now <= 0) {
            return false;
        }
        got += static_cast<size_t>(now);
    }
    return true;
}

// One byte at a time: what comes after the head belongs to frames.
std::string receive_head(int socket) {
    std::string head;
    char letter = 0;
    while (head.find("\r\n\r\n") == std::string::npos && recv(socket, &letter, 1, 0) == 1) {
        head += letter;
    }
    return head;
}

}  // namespace

Url split_url(const std::string& url) {
    Url made;
    const size_t start = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
    const size_t path = url.find('/', start);
    const std::string host = url.substr(start, path - start);
    const size_t colon = host.find(':');
    made.host = host.substr(0, colon);
    made.port = colon == std::string::npos ? 80 : atoi(host.c_str() + colon + 1);
    made.path = path == std::string::npos ? "/" : url.substr(path);
    return made;
}

std::string post(const std::string& address, const std::string& headers, const std::string& body) {
    const Url url = split_url(address);
    const int socket = connect_to(url);
    if (socket < 0) {
        return {};
    }
    send_all(socket, "POST " + url.path + " HTTP/1.1\r\nHost: " + url.host + "\r\n" + headers +
                         "Content-Type: application/json\r\nConnection: close\r\n"
                         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    std::string answer;
    char buffer[512];
    ssize_t got = 0;
    while ((got = recv(socket, buffer, sizeof buffer, 0)) > 0) {
        answer.append(buffer, static_cast<size_t>(got));
    }
    close(socket);
    const size_t end = answer.find("\r\n\r\n");
    const bool good = answer.compare(0, 12, "HTTP/1.1 200") == 0 && end != std::string::npos;
    return good ? answer.substr(end + 4) : std::string();
}

WebSocketLink::WebSocketLink() : sending_(xSemaphoreCreateMutex()), ended_(xEventGroupCreate()) {}

bool WebSocketLink::open(const std::string& address, const std::string& headers,
                         std::function<void(const std::string&)> on_text,
                         std::function<void()> on_end) {
    const Url url = split_url(address);
    socket_ = connect_to(url);
    if (socket_ < 0) {
        return false;
    }
    uint8_t random[16];
    esp_fill_random(random, sizeof random);
    unsigned char key[32];
    size_t length = 0;
    mbedtls_base64_encode(key, sizeof key, &length, random, sizeof random);
    send_all(socket_, "GET " + url.path + " HTTP/1.1\r\nHost: " + url.host + "\r\n" + headers +
                          "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                          "Sec-WebSocket-Key: " + std::string(key, key + length) + "\r\n\r\n");
    if (receive_head(socket_).compare(0, 12, "HTTP/1.1 101") != 0) {
        ::close(socket_);
        return false;
    }
    on_text_ = std::move(on_text);
    on_end_ = std::move(on_end);
    connected_ = true;
    xEventGroupClearBits(ended_, ended_bit);
    const auto run = [](void* link) {
        static_cast<WebSocketLink*>(link)->receive();
        vTaskDelete(nullptr);
    };
    return xTaskCreate(run, "tcp_receive", 4096, this, 1, nullptr) == pdPASS;
}

void WebSocketLink::receive() {
    std::string head;
    std::string payload;
    std::string message;
    while (receive_exactly(socket_, head, 2)) {
        const unsigned opcode = static_cast<uint8_t>(head[0]) & 15;
        const bool last = (static_cast<uint8_t>(head[0]) & 0x80) != 0;
        uint64_t length = static_cast<uint8_t>(head[1]) & 127;
        std::string extended;
        if (length >= 126 && !receive_exactly(socket_, extended, length == 126 ? 2 : 8)) {
            break;
        }
        length = extended.empty() ? length : 0;
        for (const char byte : extended) {
            length = length << 8 | static_cast<uint8_t>(byte);
        }
        if (!receive_exactly(socket_, payload, length)) {
            break;
        }
        if (opcode == 8) {
            send_frame(8, payload);
            break;
        }
        if (opcode == 9) {
            send_frame(10, payload);
        } else if (opcode <= 1) {
            message += payload;
            if (last) {
                on_text_(message);
                message.clear();
            }
        }
    }
    connected_ = false;
    ::close(socket_);
    ESP_LOGI(tag, "Websocket disconnected");
    on_end_();
    xEventGroupSetBits(ended_, ended_bit);
}

bool WebSocketLink::send_frame(unsigned opcode, const std::string& payload) {
    std::string frame(1, static_cast<char>(0x80 | opcode));
    if (payload.size() < 126) {
        frame += static_cast<char>(0x80 | payload.size());
    } else {
        frame += static_cast<char>(0x80 | 126);
        frame += static_cast<char>(payload.size() >> 8);
        frame += static_cast<char>(payload.size());
    }
    uint8_t mask[4];
    esp_fill_random(mask, sizeof mask);
    frame.append(mask, mask + 4);
    for (size_t at = 0; at < payload.size(); ++at) {
        frame += static_cast<char>(payload[at] ^ mask[at % 4]);
    }
    xSemaphoreTake(sending_, portMAX_DELAY);
    const bool sent = connected_ && send_all(socket_, frame);
    xSemaphoreGive(sending_);
    return sent;
}

void WebSocketLink::close() {
    if (connected_) {
        send_frame(8, std::string("\x03\xe8", 2));
        shutdown(socket_, SHUT_RDWR);
        xEventGroupWaitBits(ended_, ended_bit, pdFALSE, pdFALSE, pdMS_TO_TICKS(1000));
    }
}
