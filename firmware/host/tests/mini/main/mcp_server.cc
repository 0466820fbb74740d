#include "mcp_server.h"

#include <esp_app_desc.h>
#include <esp_log.h>

#include "application.h"
#include "boards/common/board.h"

namespace {

constexpr const char* tag = "MCP";

struct Tool {
    const char* name;
    const char* description;
    const char* schema;
    bool user_only;
};

constexpr const char* nothing = "{\"type\":\"object\",\"properties\":{}}";
constexpr Tool tools[] = {
    {"self.get_device_status", "What the device is set to", nothing, false},
    {"self.audio_speaker.set_volume", "Sets the volume of the speaker",
     "{\"type\":\"object\",\"properties\":{\"volume\":{\"type\":\"integer\",\"minimum\":0,"
     "\"maximum\":100}},\"required\":[\"volume\"]}",
     false},
    {"self.reboot", "Restarts the device", nothing, true},
};

std::string text_result(const std::string& text) {
    return "{\"content\":[{\"type\":\"text\",\"text\":" + quoted(text) + "}],\"isError\":false}";
}

std::string listed(const char* name, const char* description, const char* schema) {
    return "{\"name\":" + quoted(name) + ",\"description\":" + quoted(description) +
           ",\"inputSchema\":" + schema + "}";
}

std::vector<BoardTool> board_tools() {
    Board* board = create_board();
    return board == nullptr ? std::vector<BoardTool>{} : board->Tools();
}

}  // namespace

__attribute__((weak)) Board* create_board() { return nullptr; }

McpServer& McpServer::GetInstance() {
    static McpServer server;
    return server;
}

void McpServer::LogTools() const {
    for (const auto& tool : tools) {
        ESP_LOGI(tag, "Add tool: %s%s", tool.name, tool.user_only ? " [user]" : "");
    }
    for (const auto& tool : board_tools()) {
        ESP_LOGI(tag, "Add tool: %s", tool.name);
    }
}

void McpServer::Result(const std::string& id, const std::string& result) {
    Application::GetInstance().SendMcpMessage("{\"jsonrpc\":\"2.0\",\"id\":" + id +
                                              ",\"result\":" + result + "}");
}

void McpServer::Fail(const std::string& id, int code, const std::string& message) {
    ESP_LOGE(tag, "%s", message.c_str());
    Application::GetInstance().SendMcpMessage("{\"jsonrpc\":\"2.0\",\"id\":" + id +
                                              ",\"error\":{\"code\":" + std::to_string(code) +
                                              ",\"message\":" + quoted(message) + "}}");
}

void McpServer::Answer(const Json& request) {
    const Json* named = request.find("method");
    const std::string method = request.text_of("method");
    const Json* id = request.find("id");
    const Json* parameters = request.find("params");
    if (request.text_of("jsonrpc") != "2.0" || named == nullptr || named->kind != Json::text) {
        ESP_LOGE(tag, "Missing method");
    } else if (id == nullptr) {
        return;
    } else if (!id->is_integer()) {
        ESP_LOGE(tag, "Invalid id for method: %s", method.c_str());
    } else if (parameters != nullptr && parameters->kind != Json::object) {
        Fail(id->raw, -32602, "Invalid params for method: " + method);
    } else if (method == "initialize") {
        Result(id->raw, std::string("{\"protocolVersion\":\"2024-11-05\",\"capabilities\":"
                                    "{\"tools\":{}},\"serverInfo\":{\"name\":\"mini\",\"version\":") +
                            quoted(esp_app_get_description()->version) + "}}");
    } else if (method == "ping") {
        Result(id->raw, "{}");
    } else if (method == "tools/list") {
        List(id->raw, parameters);
    } else if (method == "tools/call") {
        Call(id->raw, parameters);
    } else {
        Fail(id->raw, -32601, "Method not implemented: " + method);
    }
}

void McpServer::List(const std::string& id, const Json* parameters) {
    const Json* user = parameters == nullptr ? nullptr : parameters->find("withUserTools");
    if (parameters != nullptr && !parameters->text_of("cursor").empty()) {
        Fail(id, -32602, "Unknown cursor");
        return;
    }
    std::string list;
    for (const auto& tool : tools) {
        if (!tool.user_only || (user != nullptr && user->truth)) {
            list += (list.empty() ? "" : ",") + listed(tool.name, tool.description, tool.schema);
        }
    }
    for (const auto& tool : board_tools()) {
        list += "," + listed(tool.name, tool.description, nothing);
    }
    Result(id, "{\"tools\":[" + list + "]}");
}

void McpServer::Call(const std::string& id, const Json* parameters) {
    auto& application = Application::GetInstance();
    const std::string name = parameters == nullptr ? "" : parameters->text_of("name");
    const Json* arguments = parameters == nullptr ? nullptr : parameters->find("arguments");
    if (arguments != nullptr && arguments->kind != Json::object) {
        Fail(id, -32602, "Invalid arguments");
    } else if (name == tools[0].name) {
        Result(id, text_result("{\"audio_speaker\":{\"volume\":" +
                               std::to_string(application.volume()) + "}}"));
    } else if (name == tools[1].name) {
        const Json* volume = arguments == nullptr ? nullptr : arguments->find("volume");
        if (volume == nullptr || !volume->is_integer() || volume->value < 0 || volume->value > 100) {
            Fail(id, -32602, "Missing valid argument: volume");
            return;
        }
        application.Schedule([id, this, level = static_cast<int>(volume->value)] {
            Application::GetInstance().SetVolume(level);
            Result(id, text_result("true"));
        });
    } else if (name == tools[2].name) {
        application.Schedule([&application] { application.Reboot(); });
    } else {
        for (const auto& tool : board_tools()) {
            if (name == tool.name) {
                Result(id, text_result(tool.call()));
                return;
            }
        }
        Fail(id, -32602, "Unknown tool: " + name);
    }
}
