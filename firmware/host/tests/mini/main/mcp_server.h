#pragma once

#include <string>

#include "json.h"

class McpServer {
public:
    static McpServer& GetInstance();
    void LogTools() const;
    void Answer(const Json& request);

private:
    void List(const std::string& id, const Json* parameters);
    void Call(const std::string& id, const Json* parameters);
    void Result(const std::string& id, const std::string& result);
    void Fail(const std::string& id, int code, const std::string& message);
};
