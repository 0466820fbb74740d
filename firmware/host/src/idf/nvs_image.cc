// Pages of 4096 bytes: a header of 32, a bitmap of 32 with two bits for each entry, 126 entries of
// 32. A text is one entry with length and checksum, and as many after it as its bytes take.
#include "nvs_image.h"

#include <algorithm>
#include <cstring>

namespace kit {
namespace {

constexpr size_t entry_size = 32;
constexpr size_t entries_per_page = 126;
constexpr size_t bitmap_at = 32;
constexpr size_t entries_at = 64;
constexpr uint32_t state_active = 0xfffffffe;
constexpr uint32_t state_full = 0xfffffffc;
constexpr uint8_t version_2 = 0xfe;
constexpr uint8_t any_chunk = 0xff;
constexpr size_t largest_part = (entries_per_page - 1) * entry_size;

// As the ROM computes it when asked to begin with all ones: it inverts them first.
uint32_t crc32(const uint8_t* bytes, size_t length, uint32_t crc = 0) {
    for (size_t at = 0; at < length; ++at) {
        crc ^= bytes[at];
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
        }
    }
    return crc;
}

uint32_t checksum(const uint8_t* bytes, size_t length) { return ~crc32(bytes, length); }

uint32_t entry_checksum(const uint8_t* entry) {
    return ~crc32(entry + 8, 24, crc32(entry, 4));
}

template <typename Number>
Number load(const uint8_t* bytes) {
    Number value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

template <typename Number>
void store(uint8_t* bytes, Number value) {
    memcpy(bytes, &value, sizeof value);
}

size_t width(NvsType type) { return static_cast<uint8_t>(type) & 0x0f; }

bool is_number(NvsType type) {
    const auto code = static_cast<uint8_t>(type);
    return (code & 0xe0) == 0 && width(type) <= 8;
}

struct Reader {
    NvsSettings settings;
    std::map<uint8_t, std::string> namespaces;
    // Chunks lie under namespace, key and number until their index is known.
    std::map<std::pair<uint8_t, std::string>, std::map<uint8_t, std::string>> chunks;
    std::vector<std::pair<std::pair<uint8_t, std::string>, std::array<uint8_t, 8>>> indices;
    std::vector<std::pair<uint8_t, std::pair<std::string, NvsValue>>> values;

    void entry(const uint8_t* entry, const uint8_t* data) {
        const uint8_t space = entry[0];
        const auto type = static_cast<NvsType>(entry[1]);
        const uint8_t chunk = entry[3];
        const auto* name = reinterpret_cast<const char*>(entry + 8);
        const std::string key(name, strnlen(name, 16));
        if (space == 0) {
            namespaces[entry[24]] = key;
        } else if (is_number(type)) {
            const auto* bytes = reinterpret_cast<const char*>(entry + 24);
            values.push_back({space, {key, {type, std::string(bytes, width(type))}}});
        } else if (type == NvsType::blob) {
            std::array<uint8_t, 8> index;
            std::copy(entry + 24, entry + 32, index.begin());
            indices.push_back({{space, key}, index});
        } else {
            const auto length = load<uint16_t>(entry + 24);
            if (checksum(data, length) != load<uint32_t>(entry + 28)) {
                return;
            }
            std::string bytes(reinterpret_cast<const char*>(data), length);
            if (type == NvsType::blob_data) {
                chunks[{space, key}][chunk] = std::move(bytes);
            } else {
                values.push_back({space, {key, {type, std::move(bytes)}}});
            }
        }
    }

    void page(const uint8_t* page) {
        const auto written = [page](size_t at) {
            return ((page[bitmap_at + at / 4] >> (at % 4 * 2)) & 3) == 2;
        };
        for (size_t at = 0; at < entries_per_page;) {
            const uint8_t* entry = page + entries_at + at * entry_size;
            const size_t span = std::max<size_t>(entry[2], 1);
            const bool whole = at + span <= entries_per_page;
            if (!written(at) || !whole || entry_checksum(entry) != load<uint32_t>(entry + 4)) {
                ++at;
                continue;
            }
            const bool fits = load<uint16_t>(entry + 24) <= (span - 1) * entry_size;
            if (is_number(static_cast<NvsType>(entry[1])) || entry[1] == 0x48 || fits) {
                this->entry(entry, entry + entry_size);
            }
            at += span;
        }
    }

    NvsSettings finish() {
        for (auto& [space, value] : values) {
            if (namespaces.count(space) != 0) {
                settings[namespaces[space]][value.first] = value.second;
            }
        }
        for (auto& [key, index] : indices) {
            const uint8_t count = index[4];
            const uint8_t first = index[5];
            std::string bytes;
            for (uint8_t number = 0; number < count; ++number) {
                bytes += chunks[key][static_cast<uint8_t>(first + number)];
            }
            if (namespaces.count(key.first) != 0 && bytes.size() == load<uint32_t>(index.data())) {
                settings[namespaces[key.first]][key.second] = {NvsType::blob, std::move(bytes)};
            }
        }
        return std::move(settings);
    }
};

struct Writer {
    std::vector<std::vector<uint8_t>> pages;
    size_t used = entries_per_page;

    void room_for(size_t entries) {
        if (used + entries <= entries_per_page) {
            return;
        }
        if (!pages.empty()) {
            store(pages.back().data(), state_full);
        }
        std::vector<uint8_t> page(nvs_page, 0xff);
        store(page.data(), state_active);
        store(page.data() + 4, static_cast<uint32_t>(pages.size()));
        page[8] = version_2;
        store(page.data() + 28, checksum(page.data() + 4, 24));
        pages.push_back(std::move(page));
        used = 0;
    }

    void entry(uint8_t space, NvsType type, uint8_t chunk, const std::string& key,
               const std::array<uint8_t, 8>& fixed, const std::string& data) {
        const size_t span = 1 + (data.size() + entry_size - 1) / entry_size;
        room_for(span);
        uint8_t* page = pages.back().data();
        uint8_t* at = page + entries_at + used * entry_size;
        at[0] = space;
        at[1] = static_cast<uint8_t>(type);
        at[2] = static_cast<uint8_t>(span);
        at[3] = chunk;
        memset(at + 8, 0, 16);
        memcpy(at + 8, key.data(), std::min<size_t>(key.size(), 15));
        memcpy(at + 24, fixed.data(), fixed.size());
        store(at + 4, entry_checksum(at));
        memcpy(at + entry_size, data.data(), data.size());
        for (size_t bit = used; bit < used + span; ++bit) {
            page[bitmap_at + bit / 4] &= static_cast<uint8_t>(~(1 << (bit % 4 * 2)));
        }
        used += span;
    }

    static std::array<uint8_t, 8> empty() {
        std::array<uint8_t, 8> fixed;
        fixed.fill(0xff);
        return fixed;
    }

    void sized(uint8_t space, NvsType type, uint8_t chunk, const std::string& key,
               const std::string& data) {
        auto fixed = empty();
        store(fixed.data(), static_cast<uint16_t>(data.size()));
        const auto* bytes = reinterpret_cast<const uint8_t*>(data.data());
        store(fixed.data() + 4, checksum(bytes, data.size()));
        entry(space, type, chunk, key, fixed, data);
    }

    void value(uint8_t space, const std::string& key, const NvsValue& value) {
        if (is_number(value.type)) {
            auto fixed = empty();
            memcpy(fixed.data(), value.bytes.data(), std::min<size_t>(value.bytes.size(), 8));
            entry(space, value.type, any_chunk, key, fixed, {});
        } else if (value.type == NvsType::blob) {
            uint8_t parts = 0;
            for (size_t at = 0; at < value.bytes.size() || parts == 0; at += largest_part) {
                sized(space, NvsType::blob_data, parts++, key, value.bytes.substr(at, largest_part));
            }
            auto fixed = empty();
            store(fixed.data(), static_cast<uint32_t>(value.bytes.size()));
            fixed[4] = parts;
            fixed[5] = 0;
            entry(space, NvsType::blob, any_chunk, key, fixed, {});
        } else {
            sized(space, value.type, any_chunk, key, value.bytes);
        }
    }
};

}  // namespace

NvsSettings read_nvs(const std::vector<uint8_t>& image) {
    std::vector<const uint8_t*> pages;
    for (size_t at = 0; at + nvs_page <= image.size(); at += nvs_page) {
        const uint8_t* page = image.data() + at;
        const auto state = load<uint32_t>(page);
        const bool known = state == state_active || state == state_full;
        if (known && checksum(page + 4, 24) == load<uint32_t>(page + 28)) {
            pages.push_back(page);
        }
    }
    std::sort(pages.begin(), pages.end(), [](const uint8_t* left, const uint8_t* right) {
        return load<uint32_t>(left + 4) < load<uint32_t>(right + 4);
    });
    Reader reader;
    for (const uint8_t* page : pages) {
        reader.page(page);
    }
    return reader.finish();
}

bool write_nvs(const NvsSettings& settings, std::vector<uint8_t>& image) {
    Writer writer;
    writer.room_for(1);
    uint8_t number = 0;
    for (const auto& [name, entries] : settings) {
        auto fixed = Writer::empty();
        fixed[0] = ++number;
        writer.entry(0, NvsType::u8, any_chunk, name, fixed, {});
        for (const auto& [key, value] : entries) {
            writer.value(number, key, value);
        }
    }
    const size_t room = image.size() / nvs_page;
    if (room == 0 || writer.pages.size() > room - 1) {
        return false;
    }
    std::fill(image.begin(), image.end(), 0xff);
    for (size_t at = 0; at < writer.pages.size(); ++at) {
        std::copy(writer.pages[at].begin(), writer.pages[at].end(),
                  image.begin() + static_cast<ptrdiff_t>(at * nvs_page));
    }
    return true;
}

}  // namespace kit
