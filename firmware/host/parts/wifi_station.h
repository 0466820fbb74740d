// 78/esp-wifi-connect: the network of the host, which is always there.
#pragma once

#include <string>

class WifiStation {
public:
    static WifiStation& GetInstance() {
        static WifiStation station;
        return station;
    }
    void Start() {}
    void Stop() {}
    void AddAuth(const std::string&, const std::string&) {}
    bool IsConnected() const { return true; }
    bool WaitForConnected(int = 10000) { return true; }
    std::string GetSsid() const { return "host"; }
    std::string GetIpAddress() const { return "127.0.0.1"; }
    int GetRssi() const { return -40; }
    int GetChannel() const { return 1; }
    void SetPowerSaveMode(bool) {}
};
