// The summation of gradients: from the gradient program's outputs, through the fixed tree over this
// rank's micro-batches, into buckets that are all-reduced over the ranks. See base/reduce_tree.h
// for the order.
//
// All reduced values of a micro-batch lie in one flat buffer (reduction_layout.h). A rank's
// micro-batches are added like a binary counter, so that at most log2(micro_batches) + 1 such
// buffers exist. During the last micro-batch's call each bucket is finished and submitted to the
// communicator as soon as its last value is complete. If ranks share memory, the last micro-batch's
// buffer is a SharedBuffer: the other ranks read the gradients where the gradient program wrote
// them, and the update program reads the sums where they were written.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/spans.h"
#include "core/base/thread_pool.h"
#include "core/runtime/allocator.h"
#include "core/runtime/communicator.h"
#include "core/runtime/reduction_layout.h"
#include "core/virtual_time/virtual_clock.h"

namespace lockstep {

/// One step's reduction. Used by the device's thread.
class Reduction {
 public:
  struct Context {
    Allocator& allocator;
    ThreadPool& pool;
    Communicator& communicator;
    SpanStream& spans;
    std::int64_t step;
    bool overlap;
    CarriedDigestPtr carried = {};  ///< travels with the first bucket
    std::uint64_t correlation = 0;  ///< of the execution, for spans
    /// Gets the virtual time at which each bucket is complete on all ranks; null: it is not kept.
    VirtualExecution* virtual_time = nullptr;
  };
  /// Reserves all buffers. Error kOutOfMemory.
  Reduction(const ReductionLayout& layout, const Context& context, std::int64_t micro_batches);
  /// Waits for the submitted buckets, since the communicator still refers to the buffers.
  ~Reduction();
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  /// The memory for the current micro-batch's value i.
  std::byte* slot(std::int32_t value) const;
  /// Call it before the first write to a slot of the current micro-batch: waits until no other rank
  /// reads the data of the last step there. Error kPeer.
  void begin_writing();
  /// The current micro-batch's value i is complete.
  void finish_value(std::int32_t value);
  /// The current micro-batch's call has returned; the next one follows if there is one.
  void finish_micro_batch();
  /// Waits until all buckets are summed over all ranks. Rethrows a lost or diverging rank's error.
  void wait();
  /// Where value i's sum lies, after wait().
  const std::byte* result(std::int32_t value) const;

 private:
  bool is_last_micro_batch() const { return micro_batch_ + 1 == micro_batches_; }
  void reserve();
  void take_buffer();
  void free_buffer(BufferPtr buffer);
  void clear_padding(std::byte* buffer) const;
  void finish_bucket(std::size_t bucket);
  void push_partial_sum();
  Span exposed() const;
  Span gradient_sums(std::int64_t bucket) const;

  const ReductionLayout& layout_;
  Context context_;
  std::int64_t micro_batches_;
  std::int64_t micro_batch_ = 0;
  std::shared_ptr<SharedBuffer> shared_;  ///< null if ranks share no memory
  BufferPtr last_;                        ///< for the last micro-batch; for others only if needed
  std::vector<BufferPtr> free_;           ///< further buffers
  BufferPtr current_;
  struct Partial {
    BufferPtr sum;
    std::int64_t micro_batches;
  };
  std::vector<Partial> partials_;  ///< larger subtrees first
  std::vector<int> open_values_;   ///< per bucket, of the last micro-batch
  std::vector<EventPtr> events_;
};

}  // namespace lockstep
