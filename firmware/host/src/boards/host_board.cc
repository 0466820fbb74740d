#include "host_board.h"

HostCodec::HostCodec() {
    input_sample_rate_ = 16000;
    output_sample_rate_ = 24000;
}

int HostCodec::Read(int16_t*, int samples) { return samples; }
int HostCodec::Write(const int16_t*, int samples) { return samples; }

AudioCodec* HostBoard::GetAudioCodec() {
    static HostCodec codec;
    return &codec;
}
