// Sound without codecs: a microphone that hears silence, and a speaker that takes its time.
#include "audio_service.h"

#include <esp_log.h>

#include <cstdlib>
#include <thread>

namespace {

constexpr auto frame = std::chrono::milliseconds(OPUS_FRAME_DURATION_MS);
// A frame of Opus, 60 ms, one channel, that says that nobody speaks.
constexpr uint8_t silence[] = {0x58, 0xff, 0xfe};

}  // namespace

void AudioService::Initialize(AudioCodec* codec) {
    if (codec == nullptr) {
        ESP_LOGE("AudioService", "The board has no audio codec: its sources choose one by a setting of sdkconfig "
                 "that the first build in its config.json does not make");
        abort();
    }
    codec_ = codec;
    codec_->Start();
}

void AudioService::Start() {
    if (running_.exchange(true)) {
        return;
    }
    tasks_ = 2;
    const auto input = [](void* service) {
        static_cast<AudioService*>(service)->InputTask();
        vTaskDelete(nullptr);
    };
    const auto output = [](void* service) {
        static_cast<AudioService*>(service)->OutputTask();
        vTaskDelete(nullptr);
    };
    xTaskCreate(input, "audio_input", 2048 * 3, this, 8, nullptr);
    xTaskCreate(output, "audio_output", 2048 * 2, this, 4, nullptr);
}

void AudioService::Stop() {
    running_ = false;
    std::unique_lock lock(mutex_);
    decode_queue_.clear();
    send_queue_.clear();
    changed_.notify_all();
    changed_.wait_for(lock, 5 * frame, [this] { return tasks_ == 0; });
}

void AudioService::InputTask() {
    auto due = std::chrono::steady_clock::now();
    while (running_) {
        due += frame;
        std::unique_lock lock(mutex_);
        changed_.wait_until(lock, due, [this] { return !running_; });
        if (!running_ || !processing_ || send_queue_.size() >= MAX_SEND_PACKETS_IN_QUEUE) {
            continue;
        }
        auto packet = std::make_unique<AudioStreamPacket>();
        packet->sample_rate = 16000;
        packet->frame_duration = OPUS_FRAME_DURATION_MS;
        packet->timestamp = timestamp_ += OPUS_FRAME_DURATION_MS;
        packet->payload.assign(std::begin(silence), std::end(silence));
        send_queue_.push_back(std::move(packet));
        lock.unlock();
        if (callbacks_.on_send_queue_available) {
            callbacks_.on_send_queue_available();
        }
    }
    const std::lock_guard lock(mutex_);
    --tasks_;
    changed_.notify_all();
}

void AudioService::OutputTask() {
    while (running_) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !running_ || !decode_queue_.empty(); });
        if (!running_) {
            break;
        }
        lock.unlock();
        if (!codec_->output_enabled()) {
            codec_->EnableOutput(true);
        }
        std::this_thread::sleep_for(frame);
        lock.lock();
        if (!decode_queue_.empty()) {
            decode_queue_.pop_front();
        }
        const bool drained = decode_queue_.empty();
        changed_.notify_all();
        lock.unlock();
        if (drained && callbacks_.on_playback_drained) {
            callbacks_.on_playback_drained();
        }
    }
    const std::lock_guard lock(mutex_);
    --tasks_;
    changed_.notify_all();
}

bool AudioService::IsPlaybackIdle() {
    const std::lock_guard lock(mutex_);
    return decode_queue_.empty();
}

bool AudioService::IsIdle() {
    const std::lock_guard lock(mutex_);
    return decode_queue_.empty() && send_queue_.empty();
}

void AudioService::EnableVoiceProcessing(bool enable) {
    processing_ = enable;
    if (enable) {
        ResetDecoder();
        if (!codec_->input_enabled()) {
            codec_->EnableInput(true);
        }
    }
}

void AudioService::SetCallbacks(AudioServiceCallbacks& callbacks) { callbacks_ = callbacks; }

bool AudioService::PushPacketToDecodeQueue(std::unique_ptr<AudioStreamPacket> packet, bool wait) {
    std::unique_lock lock(mutex_);
    const auto room = [this] {
        return !running_ || decode_queue_.size() < MAX_DECODE_PACKETS_IN_QUEUE;
    };
    if (!room()) {
        if (!wait) {
            return false;
        }
        changed_.wait(lock, room);
    }
    decode_queue_.push_back(std::move(packet));
    changed_.notify_all();
    return true;
}

std::unique_ptr<AudioStreamPacket> AudioService::PopPacketFromSendQueue() {
    const std::lock_guard lock(mutex_);
    if (send_queue_.empty()) {
        return nullptr;
    }
    auto packet = std::move(send_queue_.front());
    send_queue_.pop_front();
    return packet;
}

void AudioService::ResetDecoder() {
    const std::lock_guard lock(mutex_);
    decode_queue_.clear();
    changed_.notify_all();
}

void AudioService::WaitForPlaybackQueueEmpty() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !running_ || decode_queue_.empty(); });
}
