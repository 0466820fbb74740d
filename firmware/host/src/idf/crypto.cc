// AES-128/192/256 in counter mode, base64 and SHA-256, as FIPS 197, RFC 4648 and FIPS 180-4 define
// them. Small and slow, which is enough for 17 packets of sound a second.
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kit.h"
#include "mbedtls/base64.h"
#include "psa/crypto.h"

namespace {

uint8_t times_two(uint8_t value) {
    return static_cast<uint8_t>((value << 1) ^ ((value & 0x80) != 0 ? 0x1b : 0));
}

// Computed from its definition: the inverse in the field, then an affine map.
const std::array<uint8_t, 256>& substitution() {
    static const auto table = [] {
        std::array<uint8_t, 256> made{};
        uint8_t p = 1;
        uint8_t q = 1;
        do {
            p = static_cast<uint8_t>(p ^ times_two(p));
            q = static_cast<uint8_t>(q ^ (q << 1));
            q = static_cast<uint8_t>(q ^ (q << 2));
            q = static_cast<uint8_t>(q ^ (q << 4));
            if ((q & 0x80) != 0) {
                q ^= 0x09;
            }
            const auto rotated = [q](int by) {
                return static_cast<uint8_t>((q << by) | (q >> (8 - by)));
            };
            made[p] = static_cast<uint8_t>(q ^ rotated(1) ^ rotated(2) ^ rotated(3) ^ rotated(4) ^
                                           0x63);
        } while (p != 1);
        made[0] = 0x63;
        return made;
    }();
    return table;
}

void encrypt_block(const mbedtls_aes_context& context, const uint8_t* in, uint8_t* out) {
    const auto& box = substitution();
    uint8_t state[16];
    for (int at = 0; at < 16; ++at) {
        state[at] = in[at] ^ context.round_keys[at];
    }
    for (int round = 1; round <= context.rounds; ++round) {
        uint8_t shifted[16];
        for (int column = 0; column < 4; ++column) {
            for (int row = 0; row < 4; ++row) {
                shifted[column * 4 + row] = box[state[((column + row) % 4) * 4 + row]];
            }
        }
        for (int column = 0; column < 4; ++column) {
            uint8_t* cells = shifted + column * 4;
            if (round < context.rounds) {
                const uint8_t first = cells[0];
                const uint8_t all = cells[0] ^ cells[1] ^ cells[2] ^ cells[3];
                for (int row = 0; row < 4; ++row) {
                    const uint8_t next = row == 3 ? first : cells[row + 1];
                    cells[row] = cells[row] ^ all ^ times_two(cells[row] ^ next);
                }
            }
            for (int row = 0; row < 4; ++row) {
                const int at = column * 4 + row;
                state[at] = shifted[at] ^ context.round_keys[round * 16 + at];
            }
        }
    }
    memcpy(out, state, sizeof state);
}

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_value(unsigned char letter) {
    const char* found = letter == 0 ? nullptr : strchr(alphabet, letter);
    return found == nullptr ? -1 : static_cast<int>(found - alphabet);
}

struct Keys {
    std::mutex mutex;
    std::map<psa_key_id_t, std::vector<uint8_t>> all;
    psa_key_id_t last = 0;
};

Keys& keys() {
    static auto* instance = new Keys;
    return *instance;
}

struct Sha256 {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint64_t length = 0;

    static uint32_t rotate(uint32_t value, int by) { return (value >> by) | (value << (32 - by)); }

    void block(const uint8_t* bytes) {
        static constexpr uint32_t constants[64] = {
            0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
            0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
            0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
            0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
            0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
            0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
            0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
            0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
            0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
            0xc67178f2};
        uint32_t words[64];
        for (int at = 0; at < 16; ++at) {
            words[at] = uint32_t{bytes[at * 4]} << 24 | uint32_t{bytes[at * 4 + 1]} << 16 |
                        uint32_t{bytes[at * 4 + 2]} << 8 | bytes[at * 4 + 3];
        }
        for (int at = 16; at < 64; ++at) {
            const uint32_t early = words[at - 15];
            const uint32_t late = words[at - 2];
            words[at] = words[at - 16] + (rotate(early, 7) ^ rotate(early, 18) ^ (early >> 3)) +
                        words[at - 7] + (rotate(late, 17) ^ rotate(late, 19) ^ (late >> 10));
        }
        uint32_t v[8];
        memcpy(v, state, sizeof v);
        for (int at = 0; at < 64; ++at) {
            const uint32_t first = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
                                   ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[at] + words[at];
            const uint32_t second = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) +
                                    ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof(uint32_t));
            v[4] += first;
            v[0] = first + second;
        }
        for (int at = 0; at < 8; ++at) {
            state[at] += v[at];
        }
    }
};

}  // namespace

std::array<uint8_t, 32> kit::sha256_of_file(const char* path) {
    std::ifstream in(path, std::ios::binary);
    Sha256 hash;
    std::vector<char> buffer(65536);
    while (true) {
        in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
        const auto got = static_cast<size_t>(in.gcount());
        hash.length += got;
        size_t at = 0;
        for (; at + 64 <= got; at += 64) {
            hash.block(reinterpret_cast<uint8_t*>(buffer.data()) + at);
        }
        if (got == buffer.size()) {
            continue;
        }
        std::string tail(buffer.data() + at, got - at);
        tail += '\x80';
        tail.append((120 - tail.size() % 64) % 64, '\0');
        for (int shift = 56; shift >= 0; shift -= 8) {
            tail += static_cast<char>((hash.length * 8) >> shift);
        }
        for (at = 0; at < tail.size(); at += 64) {
            hash.block(reinterpret_cast<const uint8_t*>(tail.data()) + at);
        }
        break;
    }
    std::array<uint8_t, 32> digest{};
    for (size_t at = 0; at < digest.size(); ++at) {
        digest[at] = static_cast<uint8_t>(hash.state[at / 4] >> (24 - at % 4 * 8));
    }
    return digest;
}

extern "C" {

void mbedtls_aes_init(mbedtls_aes_context* context) { *context = {}; }
void mbedtls_aes_free(mbedtls_aes_context* context) { *context = {}; }

int mbedtls_aes_setkey_enc(mbedtls_aes_context* context, const unsigned char* key,
                           unsigned int bits) {
    if (bits != 128 && bits != 192 && bits != 256) {
        return -1;
    }
    const auto& box = substitution();
    const size_t words = bits / 32;
    context->rounds = static_cast<int>(words) + 6;
    memcpy(context->round_keys, key, words * 4);
    uint8_t constant = 1;
    for (size_t at = words; at < static_cast<size_t>(context->rounds + 1) * 4; ++at) {
        uint8_t word[4];
        memcpy(word, context->round_keys + (at - 1) * 4, 4);
        if (at % words == 0) {
            const uint8_t first = word[0];
            word[0] = box[word[1]] ^ constant;
            word[1] = box[word[2]];
            word[2] = box[word[3]];
            word[3] = box[first];
            constant = times_two(constant);
        } else if (words > 6 && at % words == 4) {
            for (auto& byte : word) {
                byte = box[byte];
            }
        }
        for (size_t byte = 0; byte < 4; ++byte) {
            context->round_keys[at * 4 + byte] =
                context->round_keys[(at - words) * 4 + byte] ^ word[byte];
        }
    }
    return 0;
}

int mbedtls_aes_crypt_ctr(mbedtls_aes_context* context, size_t length, size_t* offset,
                          unsigned char counter[16], unsigned char stream[16],
                          const unsigned char* in, unsigned char* out) {
    for (size_t at = 0; at < length; ++at) {
        if (*offset == 0) {
            encrypt_block(*context, counter, stream);
            for (int byte = 15; byte >= 0 && ++counter[byte] == 0; --byte) {
            }
        }
        out[at] = in[at] ^ stream[*offset];
        *offset = (*offset + 1) % 16;
    }
    return 0;
}

psa_status_t psa_crypto_init(void) { return PSA_SUCCESS; }

psa_status_t psa_import_key(const psa_key_attributes_t* attributes, const uint8_t* data,
                            size_t length, psa_key_id_t* key) {
    if (attributes->type != PSA_KEY_TYPE_AES) {
        return PSA_ERROR_NOT_SUPPORTED;
    }
    if (length != 16 && length != 24 && length != 32) {
        return PSA_ERROR_INVALID_ARGUMENT;
    }
    auto& list = keys();
    const std::lock_guard lock(list.mutex);
    *key = ++list.last;
    list.all[*key].assign(data, data + length);
    return PSA_SUCCESS;
}

psa_status_t psa_destroy_key(psa_key_id_t key) {
    auto& list = keys();
    const std::lock_guard lock(list.mutex);
    return list.all.erase(key) == 0 ? PSA_ERROR_INVALID_HANDLE : PSA_SUCCESS;
}

psa_status_t psa_cipher_encrypt_setup(psa_cipher_operation_t* operation, psa_key_id_t key,
                                      psa_algorithm_t algorithm) {
    if (algorithm != PSA_ALG_CTR) {
        return PSA_ERROR_NOT_SUPPORTED;
    }
    auto& list = keys();
    const std::lock_guard lock(list.mutex);
    const auto found = list.all.find(key);
    if (found == list.all.end()) {
        return PSA_ERROR_INVALID_HANDLE;
    }
    mbedtls_aes_setkey_enc(&operation->aes, found->second.data(),
                           static_cast<unsigned>(found->second.size() * 8));
    operation->offset = 0;
    operation->state = 1;
    return PSA_SUCCESS;
}

// In counter mode both directions are the same.
psa_status_t psa_cipher_decrypt_setup(psa_cipher_operation_t* operation, psa_key_id_t key,
                                      psa_algorithm_t algorithm) {
    return psa_cipher_encrypt_setup(operation, key, algorithm);
}

psa_status_t psa_cipher_set_iv(psa_cipher_operation_t* operation, const uint8_t* iv,
                               size_t length) {
    if (operation->state != 1) {
        return PSA_ERROR_BAD_STATE;
    }
    if (length != sizeof operation->counter) {
        return PSA_ERROR_INVALID_ARGUMENT;
    }
    memcpy(operation->counter, iv, length);
    operation->state = 2;
    return PSA_SUCCESS;
}

psa_status_t psa_cipher_update(psa_cipher_operation_t* operation, const uint8_t* in, size_t length,
                               uint8_t* out, size_t size, size_t* out_length) {
    if (operation->state != 2 || size < length) {
        return operation->state != 2 ? PSA_ERROR_BAD_STATE : PSA_ERROR_INVALID_ARGUMENT;
    }
    mbedtls_aes_crypt_ctr(&operation->aes, length, &operation->offset, operation->counter,
                          operation->stream, in, out);
    *out_length = length;
    return PSA_SUCCESS;
}

psa_status_t psa_cipher_finish(psa_cipher_operation_t* operation, uint8_t*, size_t,
                               size_t* out_length) {
    operation->state = 0;
    *out_length = 0;
    return PSA_SUCCESS;
}

psa_status_t psa_cipher_abort(psa_cipher_operation_t* operation) {
    *operation = {};
    return PSA_SUCCESS;
}

int mbedtls_base64_encode(unsigned char* out, size_t size, size_t* length, const unsigned char* in,
                          size_t in_length) {
    const size_t needed = (in_length + 2) / 3 * 4;
    // One more byte: the text ends with a NUL that the length does not count.
    if (size < needed + 1) {
        *length = needed + 1;
        return MBEDTLS_ERR_BASE64_BUFFER_TOO_SMALL;
    }
    size_t at = 0;
    for (size_t from = 0; from < in_length; from += 3) {
        const size_t left = in_length - from;
        const uint32_t group = uint32_t{in[from]} << 16 |
                               (left > 1 ? uint32_t{in[from + 1]} << 8 : 0) |
                               (left > 2 ? uint32_t{in[from + 2]} : 0);
        out[at++] = static_cast<unsigned char>(alphabet[group >> 18 & 63]);
        out[at++] = static_cast<unsigned char>(alphabet[group >> 12 & 63]);
        out[at++] = left > 1 ? static_cast<unsigned char>(alphabet[group >> 6 & 63]) : '=';
        out[at++] = left > 2 ? static_cast<unsigned char>(alphabet[group & 63]) : '=';
    }
    out[at] = '\0';
    *length = at;
    return 0;
}

int mbedtls_base64_decode(unsigned char* out, size_t size, size_t* length, const unsigned char* in,
                          size_t in_length) {
    std::vector<unsigned char> decoded;
    uint32_t bits = 0;
    int count = 0;
    size_t padding = 0;
    for (size_t at = 0; at < in_length; ++at) {
        if (in[at] == '\r' || in[at] == '\n') {
            continue;
        }
        const int value = in[at] == '=' ? 0 : base64_value(in[at]);
        padding += in[at] == '=';
        if (value < 0 || padding > 2 || (padding > 0 && in[at] != '=')) {
            return MBEDTLS_ERR_BASE64_INVALID_CHARACTER;
        }
        bits = bits << 6 | static_cast<uint32_t>(value);
        if (++count % 4 == 0) {
            decoded.push_back(static_cast<unsigned char>(bits >> 16));
            decoded.push_back(static_cast<unsigned char>(bits >> 8));
            decoded.push_back(static_cast<unsigned char>(bits));
        }
    }
    if (count % 4 != 0) {
        return MBEDTLS_ERR_BASE64_INVALID_CHARACTER;
    }
    decoded.resize(decoded.size() - std::min(padding, decoded.size()));
    *length = decoded.size();
    if (out == nullptr || size < decoded.size()) {
        return MBEDTLS_ERR_BASE64_BUFFER_TOO_SMALL;
    }
    std::copy(decoded.begin(), decoded.end(), out);
    return 0;
}

}  // extern "C"
