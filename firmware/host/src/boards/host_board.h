// The board that the firmware runs on: its own `Board` class, with a network that is there from
// the start, and what the kind of board adds.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "audio_codec.h"
#include "board.h"
#include "display.h"

/// A codec without sound. Its volume is the firmware's own: audio_codec.cc.
class HostCodec : public AudioCodec {
public:
    HostCodec();

protected:
    int Read(int16_t* dest, int samples) override;
    int Write(const int16_t* data, int samples) override;
};

class HostBoard : public Board {
public:
    HostBoard();

    std::string GetBoardType() override { return "wifi"; }
    AudioCodec* GetAudioCodec() override;
    NetworkInterface* GetNetwork() override;
    void StartNetwork() override;
    const char* GetNetworkStateIcon() override { return ""; }
#if KIT_NETWORK_EVENTS
    void SetNetworkEventCallback(NetworkEventCallback callback) override;
#endif
#if KIT_POWER_LEVELS
    void SetPowerSaveLevel(PowerSaveLevel) override {}
#else
    void SetPowerSaveMode(bool) override {}
#endif
    std::string GetBoardJson() override;
    std::string GetDeviceStatusJson() override;

#if KIT_NETWORK_EVENTS
private:
    NetworkEventCallback network_event_;
#endif
};
