// Fast non-cryptographic hashing (xxHash, XXH3) for structure, and SHA-256 for files and states.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace lockstep {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
  std::string hex() const;
};

/// For unordered containers: the hash is already mixed.
struct Hash128Hasher {
  std::size_t operator()(const Hash128& h) const { return static_cast<std::size_t>(h.low); }
};

/// 64-bit hash of a few words.
std::uint64_t hash64(std::initializer_list<std::uint64_t> words);

/// 128-bit hash of bytes.
Hash128 hash128(const void* data, std::size_t size);

/// Collects bytes and hashes them at the end.
class Hasher {
 public:
  void bytes(const void* data, std::size_t size) {
    data_.append(static_cast<const char*>(data), size);
  }
  template <class T>
  requires std::has_unique_object_representations_v<T>
  void value(const T& v) { bytes(&v, sizeof v); }
  Hash128 finish() const { return hash128(data_.data(), data_.size()); }

 private:
  std::string data_;
};

/// Streaming SHA-256 (OpenSSL).
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(const void* data, std::size_t size);
  std::array<std::uint8_t, 32> finish();  ///< call once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// HMAC-SHA256 (RFC 2104, OpenSSL).
std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view message);

/// Whether the bytes are equal, in a time that does not tell where they differ. For what a stranger
/// may guess.
bool equal_secretly(std::string_view a, std::string_view b);

/// Lower-case hexadecimal.
std::string to_hex(const std::uint8_t* data, std::size_t size);

}  // namespace lockstep
