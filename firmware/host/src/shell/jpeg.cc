#include "jpeg.h"

#include <cstdint>

namespace {

void segment(std::string& out, uint8_t marker, const std::string& body) {
    const size_t length = body.size() + 2;
    out += '\xff';
    out += static_cast<char>(marker);
    out += static_cast<char>(length >> 8);
    out += static_cast<char>(length);
    out += body;
}

// A table of one code of one bit, `0`, that stands for zero.
std::string one_code(uint8_t table) {
    std::string body(1, static_cast<char>(table));
    body += '\x01';
    body.append(15, '\0');
    body += '\0';
    return body;
}

}  // namespace

// Every block is as bright as the one before it and has no detail: two zero bits for each.
std::string kit::grey_jpeg(int width, int height) {
    std::string out = "\xff\xd8";
    segment(out, 0xdb, std::string(1, '\0') + std::string(64, '\x01'));
    std::string frame = "\x08";
    frame += static_cast<char>(height >> 8);
    frame += static_cast<char>(height);
    frame += static_cast<char>(width >> 8);
    frame += static_cast<char>(width);
    frame += std::string("\x01\x01\x11\x00", 4);
    segment(out, 0xc0, frame);
    segment(out, 0xc4, one_code(0x00));
    segment(out, 0xc4, one_code(0x10));
    segment(out, 0xda, std::string("\x01\x01\x00\x00\x3f\x00", 6));
    const size_t blocks = static_cast<size_t>((width + 7) / 8) * static_cast<size_t>((height + 7) / 8);
    const size_t bits = blocks * 2;
    out.append(bits / 8, '\0');
    if (bits % 8 != 0) {
        out += static_cast<char>(0xff >> (bits % 8));
    }
    out += "\xff\xd9";
    return out;
}
