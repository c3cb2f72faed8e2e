#include "core/base/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>
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

std::string to_hex(const std::uint8_t* data, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += fmt::format("{:02x}", data[i]);
  return out;
}

}  // namespace lockstep
