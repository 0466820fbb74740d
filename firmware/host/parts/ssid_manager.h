// 78/esp-wifi-connect: networks that nobody joins.
#pragma once

#include <string>
#include <vector>

struct SsidItem {
    std::string ssid;
    std::string password;
};

class SsidManager {
public:
    static SsidManager& GetInstance() {
        static SsidManager manager;
        return manager;
    }
    void AddSsid(const std::string& ssid, const std::string& password) { list_.push_back({ssid, password}); }
    void RemoveSsid(int) {}
    void Clear() { list_.clear(); }
    const std::vector<SsidItem>& GetSsidList() const { return list_; }

private:
    std::vector<SsidItem> list_;
};
