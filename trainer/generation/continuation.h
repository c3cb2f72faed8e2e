// Sequences of equal length that a model continues, token by token.
//
// A prompt runs through one of a few programs, for lengths that are powers of two, which fills the
// cache of keys and values. Each later token runs through one program for all positions, which
// reads the cache and writes one row of it in place; where the cache must be reordered, through a
// second one. When the model's maximum length is reached, the older half of the tokens is dropped:
// the newer half becomes a prompt. A model without a cache computes everything again for each
// token, in a window of a fixed size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/engine.h"
#include "data/samples/dataset.h"
#include "trainer/task/model.h"

namespace lockstep {

class Continuation {
 public:
  /// `samples` sequences that begin with `prompt`, which is not empty. `length` is the model's
  /// maximum number of tokens, or less. Engine and model must outlive this.
  Continuation(Engine& engine, const Model& model, DType compute_dtype, std::int64_t length,
               std::span<const std::int32_t> prompt, std::int64_t samples);
  /// Sequences that begin with `prompts`, one or more of equal length.
  Continuation(Engine& engine, const Model& model, DType compute_dtype, std::int64_t length,
               std::vector<std::vector<std::int32_t>> prompts);

  /// What else the model sees, see Model::remember(): the fields of n samples, each for samples() /
  /// n sequences in a row. Before the first token. Error kUsage if the model sees texts only.
  void remember(HostBatch inputs);

  /// Logits of each sample's next token, [samples,V] row after row.
  std::vector<float> next_logits();
  /// Adds a token to each sample.
  void append(std::span<const std::int32_t> tokens);
  /// Sample i becomes what sample rows[i] was. The cache follows with the next token: where several
  /// become what one was, the program gathers all of the cache's rows, at any position. Samples s
  /// to s + n - 1 that become what some of them were keep, together, rows s to s + n - 1 of the
  /// batch.
  void reorder(std::span<const std::int32_t> rows);

  std::int64_t samples() const { return samples_; }
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_[0].size()); }
  /// How many tokens can be added before older ones are dropped; not positive if they were.
  std::int64_t room() const { return length_ - size(); }
  const std::vector<std::int32_t>& tokens(std::int64_t sample) const {
    return tokens_[static_cast<std::size_t>(sample)];
  }

 private:
  void make_cache(const CacheShape& shape);
  Tensor all_logits();
  Tensor cached_logits();
  void move_cache(std::span<const std::int32_t> rows);
  /// Tokens [first, first + count) of every sample in its place, filled up to `padded`.
  Tensor rows(std::int64_t first, std::int64_t count, std::int64_t padded);

  Engine& engine_;
  const Model& model_;
  DType compute_dtype_;
  std::int64_t length_;
  std::int64_t samples_;
  std::vector<std::vector<std::int32_t>> tokens_;
  KeyValueCache cache_;
  std::int64_t begin_ = 0;  ///< tokens before it are dropped
  std::int64_t kept_ = 0;   ///< tokens up to here are in the cache
  /// The row of the cache, and of the programs' batch, that belongs to each sample.
  std::vector<std::int32_t> places_;
  /// The row that each row of the cache must become a copy of; empty: all are as they should be.
  std::vector<std::int32_t> copied_;
};

}  // namespace lockstep
