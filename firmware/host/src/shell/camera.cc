#include "kit_camera.h"

#include <esp_log.h>

#include <stdexcept>

#include "board.h"
#include "jpeg.h"
#include "system_info.h"

namespace {

constexpr const char* tag = "HostCamera";
constexpr const char* boundary = "----HOST_CAMERA_BOUNDARY";

void send(Http& http, const std::string& part) { http.Write(part.data(), part.size()); }

}  // namespace

void KitCamera::SetExplainUrl(const std::string& url, const std::string& token) {
    url_ = url;
    token_ = token;
}

bool KitCamera::Capture() {
    picture_ = kit::grey_jpeg(320, 240);
    return true;
}

std::string KitCamera::Explain(const std::string& question) {
    if (url_.empty()) {
        throw std::runtime_error("nobody has said where pictures go");
    }
    auto http = Board::GetInstance().GetNetwork()->CreateHttp(3);
    http->SetHeader("Device-Id", SystemInfo::GetMacAddress());
    http->SetHeader("Client-Id", Board::GetInstance().GetUuid());
    if (!token_.empty()) {
        http->SetHeader("Authorization", "Bearer " + token_);
    }
    http->SetHeader("Content-Type", std::string("multipart/form-data; boundary=") + boundary);
    http->SetHeader("Transfer-Encoding", "chunked");
    if (!http->Open("POST", url_)) {
        ESP_LOGE(tag, "cannot reach %s", url_.c_str());
        throw std::runtime_error("cannot reach the address for pictures");
    }
    const std::string start = std::string("--") + boundary + "\r\n";
    send(*http, start + "Content-Disposition: form-data; name=\"question\"\r\n\r\n" + question +
                    "\r\n");
    send(*http, start +
                    "Content-Disposition: form-data; name=\"file\"; filename=\"camera.jpg\"\r\n"
                    "Content-Type: image/jpeg\r\n\r\n");
    send(*http, picture_);
    send(*http, std::string("\r\n--") + boundary + "--\r\n");
    http->Write("", 0);
    if (http->GetStatusCode() != 200) {
        ESP_LOGE(tag, "upload answered with status %d", http->GetStatusCode());
        throw std::runtime_error("the picture was refused");
    }
    std::string answer = http->ReadAll();
    http->Close();
    ESP_LOGI(tag, "uploaded %zu bytes: %s", picture_.size(), answer.c_str());
    return answer;
}
