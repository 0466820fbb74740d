// Takes the place of main/audio/audio_service.h, which needs Espressif's closed codecs. Queues and
// timing are alike: one frame per 60 ms in either direction, silence as sound.
#ifndef AUDIO_SERVICE_H
#define AUDIO_SERVICE_H

#include <esp_timer.h>
#include <freertos/FreeRTOS.h>
#include <freertos/event_groups.h>
#include <freertos/queue.h>
#include <freertos/task.h>
#include <model_path.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "audio_codec.h"
#include "protocol.h"

#define OPUS_FRAME_DURATION_MS 60
#define MAX_DECODE_PACKETS_IN_QUEUE (2400 / OPUS_FRAME_DURATION_MS)
#define MAX_SEND_PACKETS_IN_QUEUE (2400 / OPUS_FRAME_DURATION_MS)

struct AudioServiceCallbacks {
    std::function<void(void)> on_send_queue_available;
    std::function<void(const std::string&)> on_wake_word_detected;
    std::function<void(bool)> on_vad_change;
    std::function<void(void)> on_audio_testing_queue_full;
    std::function<void(void)> on_playback_drained;
};

class AudioService {
public:
    void Initialize(AudioCodec* codec);
    void Start();
    void Stop();

    void EncodeWakeWord() {}
    std::unique_ptr<AudioStreamPacket> PopWakeWordPacket() { return nullptr; }
    const std::string& GetLastWakeWord() const { return last_wake_word_; }
    bool IsVoiceDetected() const { return false; }
    bool IsIdle();
    bool IsPlaybackIdle();
    bool IsWakeWordRunning() const { return wake_word_running_; }
    bool IsAudioProcessorRunning() const { return processing_; }
    bool IsAfeWakeWord() { return false; }

    void EnableWakeWordDetection(bool enable) { wake_word_running_ = enable; }
    void EnableVoiceProcessing(bool enable);
    void EnableAudioTesting(bool) {}
    void EnableDeviceAec(bool) {}
    void SetCallbacks(AudioServiceCallbacks& callbacks);

    bool PushPacketToDecodeQueue(std::unique_ptr<AudioStreamPacket> packet, bool wait = false);
    std::unique_ptr<AudioStreamPacket> PopPacketFromSendQueue();
    void PlaySound(const std::string_view&) {}
    bool ReadAudioData(std::vector<int16_t>&, int, int) { return false; }
    void ResetDecoder();
    void WaitForPlaybackQueueEmpty();
    void SetModelsList(srmodel_list_t*) {}
    void UpdateOutputTimestamp() {}

    // What a fork's class has beyond this, from a folder of XIAOZHI_STUBS.
#if __has_include("kit_audio_service.h")
#include "kit_audio_service.h"
#endif

private:
    void InputTask();
    void OutputTask();

    AudioCodec* codec_ = nullptr;
    AudioServiceCallbacks callbacks_;
    std::string last_wake_word_;
    std::atomic<bool> running_{false};
    std::atomic<bool> processing_{false};
    std::atomic<bool> wake_word_running_{false};
    std::atomic<int> tasks_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<AudioStreamPacket>> decode_queue_;
    std::deque<std::unique_ptr<AudioStreamPacket>> send_queue_;
    uint32_t timestamp_ = 0;
};

#endif
