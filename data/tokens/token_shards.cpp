#include "data/tokens/token_shards.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/base/error.h"
#include "data/files/mapped_file.h"

namespace lockstep {
namespace {

constexpr std::int32_t kMagic = 20240520;
constexpr std::int32_t kLlama3Magic = 20240801;  // u32 tokens, version 7
constexpr std::int32_t kVersion = 1;
using Header = std::array<std::int32_t, 256>;

std::int32_t first_word(std::span<const std::byte> bytes) {
  std::int32_t word = 0;
  if (bytes.size() >= sizeof word) std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

/// Where the tokens of an llm.c file lie, after every field of the header was checked.
std::span<const std::byte> llm_c_payload(const std::string& path,
                                         std::span<const std::byte> bytes) {
  Header header{};
  if (bytes.size() < sizeof header) {
    raise(ErrorKind::kData, "{}: truncated: the header alone has {} bytes, the file {}", path,
          sizeof header, bytes.size());
  }
  std::memcpy(header.data(), bytes.data(), sizeof header);
  if (header[0] != kMagic) {
    raise(ErrorKind::kData, "{}: not an llm.c token file: magic {} instead of {}", path, header[0],
          kMagic);
  }
  if (header[1] != kVersion) {
    raise(ErrorKind::kData, "{}: version {} of the token file format is not supported, only {}",
          path, header[1], kVersion);
  }
  if (header[2] < 0) raise(ErrorKind::kData, "{}: the header says {} tokens", path, header[2]);
  const std::size_t expected =
      sizeof header + static_cast<std::size_t>(header[2]) * sizeof(std::uint16_t);
  if (bytes.size() != expected) {
    raise(ErrorKind::kData, "{}: {}: the header says {} tokens, which need {} bytes, but it has {}",
          path, bytes.size() < expected ? "truncated" : "oversized", header[2], expected,
          bytes.size());
  }
  return bytes.subspan(sizeof header);
}

std::span<const std::byte> headerless_payload(const std::string& path,
                                              std::span<const std::byte> bytes) {
  if (first_word(bytes) == kLlama3Magic) {
    raise(ErrorKind::kData, "{}: llm.c files of 32-bit tokens (magic {}) are not supported", path,
          kLlama3Magic);
  }
  if (bytes.size() % sizeof(std::uint16_t) != 0) {
    raise(ErrorKind::kData, "{}: headerless 16-bit tokens need an even number of bytes, not {}",
          path, bytes.size());
  }
  return bytes;
}

}  // namespace

TokenShards::Shard TokenShards::open(const std::string& path, TokenFileFormat format,
                                     std::int64_t first) {
  auto file = std::make_unique<MappedFile>(path);
  const auto bytes = file->bytes();
  const bool llm_c = format == TokenFileFormat::kLlmC ||
                     (format == TokenFileFormat::kAuto && first_word(bytes) == kMagic);
  const auto payload = llm_c ? llm_c_payload(path, bytes) : headerless_payload(path, bytes);
  if (payload.empty())
    raise(ErrorKind::kData, "{}: no tokens in it ({} bytes)", path, bytes.size());
  return {std::move(file),
          {reinterpret_cast<const std::uint16_t*>(payload.data()),
           payload.size() / sizeof(std::uint16_t)},
          first};
}

TokenShards::TokenShards(const std::vector<std::string>& paths, std::int64_t vocab_size,
                         TokenFileFormat format)
    : vocab_size_(vocab_size) {
  LS_USER_CHECK(!paths.empty(), "token shards need at least one file");
  std::int64_t first = 0;
  for (const std::string& path : paths) {
    shards_.push_back(open(path, format, first));
    first += static_cast<std::int64_t>(shards_.back().tokens.size());
  }
}

TokenShards::~TokenShards() = default;

std::int64_t TokenShards::size() const {
  return shards_.back().first + static_cast<std::int64_t>(shards_.back().tokens.size());
}

const TokenShards::Shard& TokenShards::shard_of(std::int64_t position) const {
  const auto after =
      std::upper_bound(shards_.begin(), shards_.end(), position,
                       [](std::int64_t p, const Shard& shard) { return p < shard.first; });
  return *(after - 1);
}

void TokenShards::read(std::int64_t first, std::span<std::int32_t> out) const {
  check_range(first, out.size());
  std::size_t done = 0;
  while (done < out.size()) {
    const std::int64_t position = first + static_cast<std::int64_t>(done);
    const Shard& shard = shard_of(position);
    shard.file->check_not_truncated();
    const auto offset = static_cast<std::size_t>(position - shard.first);
    const std::size_t count = std::min(out.size() - done, shard.tokens.size() - offset);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t token = shard.tokens[offset + i];
      if (token >= vocab_size_) {
        raise(ErrorKind::kData, "{}: token {} at position {} is outside the vocabulary of {}",
              shard.file->path(), token, offset + i, vocab_size_);
      }
      out[done + i] = token;
    }
    done += count;
  }
}

std::string TokenShards::source(std::int64_t position) const {
  return shard_of(position).file->path();
}

std::string TokenShards::describe() const {
  if (shards_.size() == 1) return shards_.front().file->path();
  return fmt::format("{} ... {} ({} files)", shards_.front().file->path(),
                     shards_.back().file->path(), shards_.size());
}

void write_token_shard(const std::string& path, std::span<const std::int32_t> tokens) {
  if (tokens.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    raise(ErrorKind::kData, "{}: {} tokens do not fit into one shard", path, tokens.size());
  }
  std::vector<std::uint16_t> narrow(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] > 65535) {
      raise(ErrorKind::kData, "{}: token {} at position {} does not fit 16 bits", path, tokens[i],
            i);
    }
    narrow[i] = static_cast<std::uint16_t>(tokens[i]);
  }
  Header header{};
  header[0] = kMagic;
  header[1] = kVersion;
  header[2] = static_cast<std::int32_t>(tokens.size());

  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(header.data()), sizeof header);
  file.write(reinterpret_cast<const char*>(narrow.data()),
             static_cast<std::streamsize>(narrow.size() * sizeof narrow[0]));
  file.close();
  if (!file) raise_errno(ErrorKind::kData, unfinished + ": cannot be written");
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    raise_errno(ErrorKind::kData, path + ": cannot be written");
  }
}

}  // namespace lockstep
