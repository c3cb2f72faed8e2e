#include "core/base/hash.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <xxhash.h>

#include "core/base/error.h"

namespace lockstep {

std::string Hash128::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

std::uint64_t hash64(std::initializer_list<std::uint64_t> words) {
  return XXH3_64bits(words.begin(), words.size() * sizeof(std::uint64_t));
}

Hash128 hash128(const void* data, std::size_t size) {
  const XXH128_hash_t h = XXH3_128bits(data, size);
  return {h.low64, h.high64};
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  LS_CHECK(
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1,
      "SHA-256 could not be initialized");
}

Sha256::~Sha256() = default;

void Sha256::update(const void* data, std::size_t size) {
  LS_CHECK(EVP_DigestUpdate(state_->context, data, size) == 1, "SHA-256 update failed");
}

std::array<std::uint8_t, 32> Sha256::finish() {
  std::array<std::uint8_t, 32> out{};
  LS_CHECK(EVP_DigestFinal_ex(state_->context, out.data(), nullptr) == 1, "SHA-256 failed");
  return out;
}

std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view message) {
  std::array<std::uint8_t, 32> out{};
  unsigned size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  LS_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, message.size(),
                out.data(), &size) != nullptr &&
               size == out.size(),
           "HMAC-SHA256 failed");
  return out;
}

bool equal_secretly(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_hex(const std::uint8_t* data, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += fmt::format("{:02x}", data[i]);
  return out;
}

}  // namespace lockstep
