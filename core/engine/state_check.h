// Checks that the replicas of the state are still equal. All ranks make the same update of the same
// values, so parameters, optimizer state and buffers have the same bits on all of them, unless a
// processor or memory fails. After an update, one part in `interval` of what it wrote is hashed, in
// blocks of 16 Ki elements: each block has its turn every `interval` steps. Tensors of one element,
// such as the flag that allows the next update, are in every turn. The ranks' hashes travel in the
// header of the next step's first collective.
//
// It cannot detect a bit flip in gradients before they are summed (all ranks then agree on a wrong
// sum), or errors in the state of a single rank.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/hash.h"
#include "core/base/thread_pool.h"

namespace lockstep {

/// A tensor of the state.
struct StatePiece {
  std::string_view name;
  DType dtype = DType::kF32;
  std::int64_t elements = 0;
  const std::byte* data = nullptr;
  std::byte* copy = nullptr;  ///< where the hash's pass copies it; null: nowhere
};

/// Selects the blocks to hash.
struct StateTurn {
  std::int64_t step = 0;      ///< updates made so far
  std::int64_t interval = 1;  ///< block b has its turn if b = step modulo interval; a scalar always
  std::int64_t last_whole = 0;  ///< the step at which all blocks were last known to agree
  bool whole = false;           ///< all blocks
};

/// The hashes of the selected blocks.
class StateSample {
 public:
  static constexpr std::int64_t kBlock = std::int64_t{16} * 1024;  ///< elements

  /// Pieces and their order must be the same on all ranks. `names` owns their names. Copy and hash
  /// come from one read of the data, and so agree.
  StateSample(std::span<const StatePiece> pieces, const StateTurn& turn,
              std::shared_ptr<const void> names, ThreadPool& pool);

  /// The hash that ranks compare: of all hashes and the step.
  Hash128 digest() const;
  const StateTurn& turn() const { return turn_; }
  std::size_t blocks() const { return hashes_.size(); }

  /// The text that ranks exchange if their digests differ.
  std::string details() const;
  /// Given all ranks' details, in rank order: the ranks whose state differs, the tensor (a scalar
  /// only if no other differs), and the last step at which all agreed on it. The same text on every
  /// rank.
  std::string explain(std::span<const std::string> details) const;

 private:
  struct Block {
    std::string_view name;
    std::int64_t number = 0;  ///< among all blocks of the state
    std::int64_t first = 0;   ///< element of its piece
    std::int64_t elements = 0;
    const std::byte* data = nullptr;  ///< while it is hashed
    std::byte* copy = nullptr;
    std::size_t bytes = 0;
    bool of_scalar = false;
  };
  void choose(std::span<const StatePiece> pieces);
  std::int64_t last_agreement(const Block& block) const;

  StateTurn turn_;
  std::shared_ptr<const void> names_;
  std::vector<Block> blocks_;
  std::vector<std::uint64_t> hashes_;  ///< one per block
};

}  // namespace lockstep
