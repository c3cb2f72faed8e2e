// Token shards: `.bin` files of u16 token ids, as written by llm.c (dev/data/data_common.py) and
// nanoGPT (data/*/prepare.py).
//
//   llm.c:      256 little-endian i32: magic 20240520, version 1, token count, zeros; then the u16s
//   headerless: nothing but u16s
//
// Several files are joined into one stream in the order given. Samples are read from them one by
// one, so that a corpus may be larger than memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/posix_file.h"
#include "data/tokens/token_stream.h"

namespace lockstep {

/// kAuto takes a file as llm.c's if it begins with the magic number, and as headerless otherwise.
/// (As headerless tokens the magic would be 55448 and 308; GPT-2 has only 50257 tokens.)
enum class TokenFileFormat : std::uint8_t { kAuto, kLlmC, kHeaderless };

class SourceFile;

class TokenShards final : public TokenStream {
 public:
  /// Error kData naming the file if it is missing or empty, has a foreign header, or its length
  /// differs from its header. read() fails if a file has changed since.
  TokenShards(const std::vector<std::string>& paths, std::int64_t vocab_size,
              TokenFileFormat format = TokenFileFormat::kAuto);
  ~TokenShards() override;

  std::int64_t size() const override;
  std::int64_t vocab_size() const override { return vocab_size_; }
  void read(std::int64_t first, std::span<std::int32_t> out) const override;
  std::string source(std::int64_t position) const override;
  std::string describe() const override;

 private:
  struct Shard {
    std::unique_ptr<SourceFile> file;
    std::uint64_t begin;  ///< byte of its first token
    std::int64_t count;   ///< of its tokens
    std::int64_t first;   ///< position of its first token in the stream
  };
  static Shard open(const std::string& path, TokenFileFormat format, std::int64_t first);
  const Shard& shard_of(std::int64_t position) const;
  /// Reads out.size() tokens of one file, from token `offset`.
  void read_from(const Shard& shard, std::int64_t offset, std::span<std::int32_t> out) const;

  std::vector<Shard> shards_;
  std::int64_t vocab_size_;
};

/// Writes an llm.c shard, or replaces one, as an AtomicFile. Error kData if a token does not fit 16
/// bits, there are 2^31 or more, or the file cannot be written.
void write_token_shard(const std::string& path, std::span<const std::int32_t> tokens);
/// The same into a new file; the caller checks it for failed writes. `path` is its name in
/// messages.
void write_token_shard(PosixFile& file, const std::string& path,
                       std::span<const std::int32_t> tokens);

}  // namespace lockstep
