// The transport layer below the MQTT client: TCP over sockets of the host. TLS refuses to connect.
#include "esp_transport.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "esp_log.h"
#include "esp_transport_ssl.h"
#include "esp_transport_tcp.h"

struct esp_tls {
    esp_tls_last_error_t error{};
};

struct esp_transport_item_t {
    std::string scheme;
    int port = 0;
    int fd = -1;
    int error = 0;
    bool encrypted = false;
    esp_tls_last_error_t last{};
};

struct esp_transport_internal {
    std::vector<esp_transport_item_t*> all;
};

namespace {

constexpr const char* tag = "transport";

void explain_missing_tls(const char* host, int port) {
    ESP_LOGE(tag, "TLS is not part of the host build: cannot connect to %s:%d", host, port);
}

// 1 where the socket is ready, 0 where time is up, -1 where it failed.
int wait_until_ready(int fd, short events, int timeout_ms) {
    pollfd wanted{fd, events, 0};
    int ready = 0;
    do {
        ready = poll(&wanted, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    return ready;
}

}  // namespace

extern "C" {

esp_transport_list_handle_t esp_transport_list_init(void) { return new esp_transport_internal; }

esp_err_t esp_transport_list_destroy(esp_transport_list_handle_t list) {
    for (auto* transport : list->all) {
        esp_transport_destroy(transport);
    }
    delete list;
    return ESP_OK;
}

esp_err_t esp_transport_list_add(esp_transport_list_handle_t list, esp_transport_handle_t transport,
                                 const char* scheme) {
    transport->scheme = scheme;
    list->all.push_back(transport);
    return ESP_OK;
}

esp_transport_handle_t esp_transport_list_get_transport(esp_transport_list_handle_t list,
                                                        const char* scheme) {
    for (auto* transport : list->all) {
        if (transport->scheme == scheme) {
            return transport;
        }
    }
    return nullptr;
}

esp_transport_handle_t esp_transport_tcp_init(void) { return new esp_transport_item_t; }

esp_transport_handle_t esp_transport_ssl_init(void) {
    auto* transport = new esp_transport_item_t;
    transport->encrypted = true;
    return transport;
}

esp_err_t esp_transport_destroy(esp_transport_handle_t transport) {
    if (transport != nullptr) {
        esp_transport_close(transport);
        delete transport;
    }
    return ESP_OK;
}

int esp_transport_get_default_port(esp_transport_handle_t transport) { return transport->port; }

esp_err_t esp_transport_set_default_port(esp_transport_handle_t transport, int port) {
    transport->port = port;
    return ESP_OK;
}

void esp_transport_tcp_set_keep_alive(esp_transport_handle_t, esp_transport_keep_alive_t*) {}
void esp_transport_tcp_set_interface_name(esp_transport_handle_t, struct ifreq*) {}

int esp_transport_connect(esp_transport_handle_t transport, const char* host, int port,
                          int timeout_ms) {
    transport->last.last_error = ESP_ERR_ESP_TLS_FAILED_CONNECT_TO_HOST;
    if (transport->encrypted) {
        explain_missing_tls(host, port);
        return -1;
    }
    addrinfo hints = {};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host, std::to_string(port).c_str(), &hints, &found) != 0) {
        return -1;
    }
    transport->fd = socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK, 0);
    int connected = connect(transport->fd, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (connected != 0 && errno == EINPROGRESS) {
        socklen_t size = sizeof transport->error;
        if (wait_until_ready(transport->fd, POLLOUT, timeout_ms) > 0 &&
            getsockopt(transport->fd, SOL_SOCKET, SO_ERROR, &transport->error, &size) == 0 &&
            transport->error == 0) {
            connected = 0;
        }
    }
    if (connected != 0) {
        ESP_LOGE(tag, "cannot connect to %s:%d", host, port);
        esp_transport_close(transport);
        return -1;
    }
    const int flags = fcntl(transport->fd, F_GETFL);
    fcntl(transport->fd, F_SETFL, flags & ~O_NONBLOCK);
    return 0;
}

int esp_transport_poll_read(esp_transport_handle_t transport, int timeout_ms) {
    return transport->fd < 0 ? -1 : wait_until_ready(transport->fd, POLLIN, timeout_ms);
}

int esp_transport_read(esp_transport_handle_t transport, char* buffer, int length, int timeout_ms) {
    const int ready = esp_transport_poll_read(transport, timeout_ms);
    if (ready <= 0) {
        return ready == 0 ? ERR_TCP_TRANSPORT_CONNECTION_TIMEOUT
                          : ERR_TCP_TRANSPORT_CONNECTION_FAILED;
    }
    const ssize_t got = recv(transport->fd, buffer, static_cast<size_t>(length), 0);
    if (got == 0) {
        return ERR_TCP_TRANSPORT_CONNECTION_CLOSED_BY_FIN;
    }
    if (got < 0) {
        transport->error = errno;
        return ERR_TCP_TRANSPORT_CONNECTION_FAILED;
    }
    return static_cast<int>(got);
}

int esp_transport_write(esp_transport_handle_t transport, const char* buffer, int length,
                        int timeout_ms) {
    if (transport->fd < 0) {
        return -1;
    }
    const int ready = wait_until_ready(transport->fd, POLLOUT, timeout_ms);
    if (ready <= 0) {
        return ready;
    }
    const ssize_t sent = send(transport->fd, buffer, static_cast<size_t>(length), MSG_NOSIGNAL);
    if (sent < 0) {
        transport->error = errno;
    }
    return static_cast<int>(sent);
}

int esp_transport_close(esp_transport_handle_t transport) {
    if (transport->fd >= 0) {
        close(transport->fd);
        transport->fd = -1;
    }
    return 0;
}

esp_tls_error_handle_t esp_transport_get_error_handle(esp_transport_handle_t transport) {
    return &transport->last;
}

int esp_transport_get_errno(esp_transport_handle_t transport) { return transport->error; }

esp_tls_t* esp_tls_init(void) { return new esp_tls; }

int esp_tls_conn_new_sync(const char* hostname, int hostlen, int port, const esp_tls_cfg_t*,
                          esp_tls_t* tls) {
    explain_missing_tls(std::string(hostname, static_cast<size_t>(hostlen)).c_str(), port);
    tls->error.last_error = ESP_ERR_ESP_TLS_FAILED_CONNECT_TO_HOST;
    return -1;
}

ssize_t esp_tls_conn_write(esp_tls_t*, const void*, size_t) { return -1; }
ssize_t esp_tls_conn_read(esp_tls_t*, void*, size_t) { return -1; }

int esp_tls_conn_destroy(esp_tls_t* tls) {
    delete tls;
    return 0;
}

esp_err_t esp_tls_get_conn_sockfd(esp_tls_t*, int* fd) {
    *fd = -1;
    return ESP_OK;
}

esp_err_t esp_tls_get_error_handle(esp_tls_t* tls, esp_tls_error_handle_t* out) {
    *out = &tls->error;
    return ESP_OK;
}

esp_err_t esp_tls_get_and_clear_last_error(esp_tls_error_handle_t handle, int* code, int* flags) {
    const esp_err_t error = handle->last_error;
    if (code != nullptr) {
        *code = handle->esp_tls_error_code;
    }
    if (flags != nullptr) {
        *flags = handle->esp_tls_flags;
    }
    *handle = {};
    return error;
}

}  // extern "C"
