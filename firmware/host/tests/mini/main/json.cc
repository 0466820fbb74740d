#include "json.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace {

struct Parser {
    const char* at;
    bool failed = false;

    void space() { at += strspn(at, " \t\r\n"); }

    bool take(char wanted) {
        space();
        if (*at != wanted) {
            return false;
        }
        ++at;
        return true;
    }

    void expect(bool condition) { failed = failed || !condition; }

    unsigned unit() {
        char digits[5] = {};
        strncpy(digits, at, 4);
        expect(strspn(digits, "0123456789abcdefABCDEF") == 4);
        at += strlen(digits);
        return static_cast<unsigned>(strtoul(digits, nullptr, 16));
    }

    void append(std::string& out, unsigned code) {
        if (code < 0x80) {
            out += static_cast<char>(code);
        } else if (code < 0x800) {
            out += static_cast<char>(0xc0 | code >> 6);
            out += static_cast<char>(0x80 | (code & 63));
        } else if (code < 0x10000) {
            out += static_cast<char>(0xe0 | code >> 12);
            out += static_cast<char>(0x80 | (code >> 6 & 63));
            out += static_cast<char>(0x80 | (code & 63));
        } else {
            out += static_cast<char>(0xf0 | code >> 18);
            out += static_cast<char>(0x80 | (code >> 12 & 63));
            out += static_cast<char>(0x80 | (code >> 6 & 63));
            out += static_cast<char>(0x80 | (code & 63));
        }
    }

    std::string string() {
        std::string out;
        expect(take('"'));
        while (!failed && *at != '"') {
            expect(static_cast<unsigned char>(*at) >= 0x20);
            if (*at != '\\') {
                out += *at++;
                continue;
            }
            const char kind = at[1];
            at += kind == '\0' ? 1 : 2;
            static const char letters[] = "\"\\/bfnrt";
            static const char meanings[] = "\"\\/\b\f\n\r\t";
            const char* known = kind == '\0' ? nullptr : strchr(letters, kind);
            if (known != nullptr) {
                out += meanings[known - letters];
            } else if (kind == 'u') {
                unsigned code = unit();
                if (code >= 0xd800 && code < 0xdc00 && at[0] == '\\' && at[1] == 'u') {
                    at += 2;
                    const unsigned low = unit();
                    const bool pair = low >= 0xdc00 && low < 0xe000;
                    code = pair ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
                }
                // Half of a pair alone is no character.
                append(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
            } else {
                failed = true;
            }
        }
        expect(take('"'));
        return out;
    }

    Json value() {
        Json made;
        space();
        const char* start = at;
        if (*at == '"') {
            made.kind = Json::text;
            made.raw = string();
            return made;
        }
        if (*at == '{' || *at == '[') {
            const bool named = *at++ == '{';
            const char end = named ? '}' : ']';
            made.kind = named ? Json::object : Json::array;
            if (!take(end)) {
                do {
                    std::string name;
                    if (named) {
                        name = string();
                        expect(take(':'));
                    }
                    made.members.emplace_back(std::move(name), value());
                } while (!failed && take(','));
                expect(take(end));
            }
        } else if (strncmp(at, "true", 4) == 0 || strncmp(at, "false", 5) == 0) {
            made.kind = Json::boolean;
            made.truth = *at == 't';
            at += made.truth ? 4 : 5;
        } else if (strncmp(at, "null", 4) == 0) {
            at += 4;
        } else {
            const size_t length = strspn(at, "-+.eE0123456789");
            char* end = nullptr;
            made.kind = Json::number;
            made.value = strtod(at, &end);
            expect(length > 0 && end == at + length);
            at += length;
        }
        made.raw.assign(start, at);
        return made;
    }
};

}  // namespace

const Json* Json::find(const std::string& name) const {
    for (const auto& [known, value] : members) {
        if (kind == object && known == name) {
            return &value;
        }
    }
    return nullptr;
}

std::string Json::text_of(const std::string& name) const {
    const Json* found = find(name);
    return found != nullptr && found->kind == text ? found->raw : std::string();
}

bool Json::is_integer() const { return kind == number && std::trunc(value) == value; }

std::optional<Json> parse_json(const std::string& source) {
    Parser parser{source.c_str()};
    Json made = parser.value();
    parser.space();
    if (parser.failed || parser.at != source.c_str() + source.size()) {
        return std::nullopt;
    }
    return made;
}

std::string quoted(const std::string& plain) {
    std::string out = "\"";
    for (const char letter : plain) {
        if (letter == '"' || letter == '\\') {
            out += '\\';
            out += letter;
        } else if (static_cast<unsigned char>(letter) < 0x20) {
            char escaped[8];
            snprintf(escaped, sizeof escaped, "\\u%04x", letter);
            out += escaped;
        } else {
            out += letter;
        }
    }
    return out + "\"";
}
