// The settings partition: what lies in flash, and what it says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kit {

/// The type codes of the format. Blobs appear here whole, under the code of their index.
enum class NvsType : uint8_t {
    u8 = 0x01,
    i8 = 0x11,
    u16 = 0x02,
    i16 = 0x12,
    u32 = 0x04,
    i32 = 0x14,
    u64 = 0x08,
    i64 = 0x18,
    text = 0x21,
    old_blob = 0x41,
    blob_data = 0x42,
    blob = 0x48,
};

struct NvsValue {
    NvsType type = NvsType::u8;
    std::string bytes;
    bool operator==(const NvsValue&) const = default;
};

/// Namespace, then key.
using NvsSettings = std::map<std::string, std::map<std::string, NvsValue>>;

constexpr size_t nvs_page = 4096;

NvsSettings read_nvs(const std::vector<uint8_t>& image);

/// Lays the settings out anew. False where they do not fit and one page stays free, as the format
/// demands.
bool write_nvs(const NvsSettings& settings, std::vector<uint8_t>& image);

}  // namespace kit
