// Takes the place of main/boards/common/wifi_board.h: a board whose network is the host's, and is
// there from the start. The kit's kinds of boards are such boards, and so are a firmware's own.
// The guard is the genuine header's, so that it is skipped where it would be found first.
#ifndef WIFI_BOARD_H
#define WIFI_BOARD_H

#include <esp_timer.h>
#include <freertos/FreeRTOS.h>
#include <freertos/event_groups.h>

#include <functional>
#include <string>

#include "board.h"

class WifiBoard : public Board {
public:
    WifiBoard();
    virtual ~WifiBoard() = default;

    virtual std::string GetBoardType() override { return "wifi"; }
    virtual AudioCodec* GetAudioCodec() override { return nullptr; }
    virtual NetworkInterface* GetNetwork() override;
    virtual void StartNetwork() override;
    virtual const char* GetNetworkStateIcon() override { return ""; }
#if KIT_NETWORK_EVENTS
    virtual void SetNetworkEventCallback(NetworkEventCallback callback) override;
#endif
#if KIT_POWER_LEVELS
    virtual void SetPowerSaveLevel(PowerSaveLevel) override {}
#else
    virtual void SetPowerSaveMode(bool) override {}
#endif
    virtual std::string GetBoardJson() override;
    virtual std::string GetDeviceStatusJson() override;

    // There is no configuration mode: the network would be gone for as long as nobody comes.
    void EnterWifiConfigMode();
    virtual void ResetWifiConfiguration() { EnterWifiConfigMode(); }
    bool IsInWifiConfigMode() const { return false; }

protected:
    esp_timer_handle_t connect_timer_ = nullptr;
    bool in_config_mode_ = false;
    bool wifi_config_mode_ = false;
    void StartWifiConfigMode() { EnterWifiConfigMode(); }
    void TryWifiConnect() {}
#if KIT_NETWORK_EVENTS
    void OnNetworkEvent(NetworkEvent event, const std::string& data = "");
    NetworkEventCallback network_event_callback_;
#endif
};

#endif
