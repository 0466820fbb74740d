// 78/esp-wifi-connect: the network of the host, which is always there.
#pragma once

#include <functional>
#include <string>

#include "wifi_station.h"

struct WifiManagerConfig {
    std::string ssid_prefix;
    std::string language;
    int station_scan_min_interval_seconds = 0;
    int station_scan_max_interval_seconds = 0;
};
enum class WifiEvent { Scanning, Connecting, Connected, Disconnected, ConfigModeEnter, ConfigModeExit };
enum class WifiPowerSaveLevel { LOW_POWER, BALANCED, PERFORMANCE };

class WifiManager {
public:
    static WifiManager& GetInstance() {
        static WifiManager manager;
        return manager;
    }
    bool Initialize(const WifiManagerConfig& = {}) { return true; }
    bool IsInitialized() const { return true; }
    void SetEventCallback(std::function<void(WifiEvent, const std::string&)>) {}
    void StartStation() {}
    void StopStation() {}
    void StartConfigAp() {}
    void StopConfigAp() {}
    bool IsConnected() const { return true; }
    bool IsConfigMode() const { return false; }
    std::string GetSsid() const { return WifiStation::GetInstance().GetSsid(); }
    std::string GetIpAddress() const { return WifiStation::GetInstance().GetIpAddress(); }
    int GetRssi() const { return WifiStation::GetInstance().GetRssi(); }
    int GetChannel() const { return 1; }
    std::string GetApSsid() const { return {}; }
    std::string GetApWebUrl() const { return {}; }
    void SetPowerSaveLevel(WifiPowerSaveLevel) {}
};
