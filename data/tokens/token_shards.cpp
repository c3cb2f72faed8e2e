#include "data/tokens/token_shards.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "data/files/source_file.h"

namespace lockstep {
namespace {

constexpr std::int32_t kMagic = 20240520;
constexpr std::int32_t kLlama3Magic = 20240801;  // u32 tokens, version 7
constexpr std::int32_t kVersion = 1;
using Header = std::array<std::int32_t, 256>;

/// The file's first words, zeros beyond its end.
Header read_header(const SourceFile& file) {
  Header header{};
  auto bytes = std::as_writable_bytes(std::span(header));
  file.read(0, bytes.first(std::min<std::uint64_t>(bytes.size(), file.size())));
  return header;
}

/// The offset of the tokens of an llm.c file, after every field of the header was checked.
std::uint64_t begin_of_llm_c(const SourceFile& file, const Header& header) {
  const std::string& path = file.path();
  if (file.size() < sizeof header) {
    raise(ErrorKind::kData, "{}: truncated: the header alone has {} bytes, the file {}", path,
          sizeof header, file.size());
  }
  if (header[0] != kMagic) {
    raise(ErrorKind::kData, "{}: not an llm.c token file: magic {} instead of {}", path, header[0],
          kMagic);
  }
  if (header[1] != kVersion) {
    raise(ErrorKind::kData, "{}: version {} of the token file format is not supported, only {}",
          path, header[1], kVersion);
  }
  if (header[2] < 0) raise(ErrorKind::kData, "{}: the header says {} tokens", path, header[2]);
  const std::uint64_t expected =
      sizeof header + static_cast<std::uint64_t>(header[2]) * sizeof(std::uint16_t);
  if (file.size() != expected) {
    raise(ErrorKind::kData, "{}: {}: the header says {} tokens, which need {} bytes, but it has {}",
          path, file.size() < expected ? "truncated" : "oversized", header[2], expected,
          file.size());
  }
  return sizeof header;
}

void check_headerless(const SourceFile& file, const Header& header) {
  if (header[0] == kLlama3Magic) {
    raise(ErrorKind::kData, "{}: llm.c files of 32-bit tokens (magic {}) are not supported",
          file.path(), kLlama3Magic);
  }
  if (file.size() % sizeof(std::uint16_t) != 0) {
    raise(ErrorKind::kData, "{}: headerless 16-bit tokens need an even number of bytes, not {}",
          file.path(), file.size());
  }
}

}  // namespace

TokenShards::Shard TokenShards::open(const std::string& path, TokenFileFormat format,
                                     std::int64_t first) {
  auto file = std::make_unique<SourceFile>(path);
  const Header header = read_header(*file);
  std::uint64_t begin = 0;
  if (format == TokenFileFormat::kLlmC ||
      (format == TokenFileFormat::kAuto && header[0] == kMagic)) {
    begin = begin_of_llm_c(*file, header);
  } else {
    check_headerless(*file, header);
  }
  const std::uint64_t count = (file->size() - begin) / sizeof(std::uint16_t);
  if (count == 0) raise(ErrorKind::kData, "{}: no tokens in it ({} bytes)", path, file->size());
  return {std::move(file), begin, static_cast<std::int64_t>(count), first};
}

TokenShards::TokenShards(const std::vector<std::string>& paths, std::int64_t vocab_size,
                         TokenFileFormat format)
    : vocab_size_(vocab_size) {
  LS_USER_CHECK(!paths.empty(), "token shards need at least one file");
  std::int64_t first = 0;
  for (const std::string& path : paths) {
    shards_.push_back(open(path, format, first));
    first += shards_.back().count;
  }
}

TokenShards::~TokenShards() = default;

std::int64_t TokenShards::size() const {
  return shards_.back().first + shards_.back().count;
}

const TokenShards::Shard& TokenShards::shard_of(std::int64_t position) const {
  const auto after =
      std::upper_bound(shards_.begin(), shards_.end(), position,
                       [](std::int64_t p, const Shard& shard) { return p < shard.first; });
  return *(after - 1);
}

void TokenShards::read(std::int64_t first, std::span<std::int32_t> out) const {
  check_range(first, out.size());
  while (!out.empty()) {
    const Shard& shard = shard_of(first);
    const std::int64_t offset = first - shard.first;
    const auto count = std::min<std::int64_t>(std::ssize(out), shard.count - offset);
    read_from(shard, offset, out.first(static_cast<std::size_t>(count)));
    out = out.subspan(static_cast<std::size_t>(count));
    first += count;
  }
}

void TokenShards::read_from(const Shard& shard, std::int64_t offset,
                            std::span<std::int32_t> out) const {
  // The file's tokens are read into the upper half of `out` and widened from its front: a written
  // value always lies before the values that are still to be widened.
  const auto narrow = std::as_writable_bytes(out).last(out.size() * sizeof(std::uint16_t));
  shard.file->read(shard.begin + static_cast<std::uint64_t>(offset) * sizeof(std::uint16_t),
                   narrow);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t token = 0;
    std::memcpy(&token, narrow.data() + i * sizeof token, sizeof token);
    if (token >= vocab_size_) {
      raise(ErrorKind::kData, "{}: token {} at position {} is outside the vocabulary of {}",
            shard.file->path(), token, offset + static_cast<std::int64_t>(i), vocab_size_);
    }
    out[i] = token;
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

void write_token_shard(PosixFile& file, const std::string& path,
                       std::span<const std::int32_t> tokens) {
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

  file.write(0, std::as_bytes(std::span(header)));
  file.write(sizeof header, std::as_bytes(std::span(narrow)));
}

void write_token_shard(const std::string& path, std::span<const std::int32_t> tokens) {
  AtomicFile file(path, ErrorKind::kData);
  write_token_shard(file.file(), path, tokens);
  file.commit();
}

}  // namespace lockstep
