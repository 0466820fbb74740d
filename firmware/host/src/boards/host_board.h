// The kinds of boards that the kit has of its own: with a network and a codec without sound, and
// what the kind adds.
#pragma once

#include "audio_codec.h"
#include "display.h"
#include "wifi_board.h"

/// A codec without sound. Its volume is the firmware's own: audio_codec.cc.
class HostCodec : public AudioCodec {
public:
    HostCodec();

protected:
    int Read(int16_t* dest, int samples) override;
    int Write(const int16_t* data, int samples) override;
};

class HostBoard : public WifiBoard {
public:
    AudioCodec* GetAudioCodec() override;
};
