#include "checkpoint/content_digest.h"

#include <algorithm>
#include <vector>

#include "checkpoint/header_block.h"
#include "core/base/hash.h"

namespace lockstep {

std::array<std::uint8_t, 32> content_digest(
    const PosixFile& file,
    const std::function<void(std::uint64_t, std::span<const std::byte>)>& look) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::vector<std::byte> chunk(kChunk);
  Sha256 sha;
  for (std::uint64_t at = kHeaderBytes;;) {
    const std::size_t got = file.read(at, chunk);
    if (look) look(at, std::span(chunk).first(got));
    sha.update(chunk.data(), got);
    if (got < kChunk) return sha.finish();
    at += got;
  }
}

}  // namespace lockstep
