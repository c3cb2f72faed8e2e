// Working memory of tasks that run at once. A task takes the first free slot, so that few threads
// reuse few slots, which stay in their caches; all slots are reserved, since kernels must not
// depend on the number of threads.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "core/kernels/base/grid.h"

namespace lockstep {

/// One call's slots for up to kMaxSlots tasks, `bytes` each.
class ScratchSlots {
 public:
  static constexpr std::int64_t kMaxSlots = 64;
  /// The bytes that begin() needs at the head of a call's scratch memory.
  static constexpr std::size_t kHeadBytes = 64;

  ScratchSlots(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}

  /// Slots whose memory is found through the call's scratch memory, for tasks that have only that.
  static void begin(std::byte* scratch, std::byte* memory, std::size_t bytes) {
    static_assert(sizeof(ScratchSlots) <= kHeadBytes);
    new (scratch) ScratchSlots(memory, bytes);
  }
  static ScratchSlots& in(std::byte* scratch) {
    return *std::launder(reinterpret_cast<ScratchSlots*>(scratch));
  }

  /// A slot is held until it is destroyed.
  class Slot {
   public:
    explicit Slot(ScratchSlots& slots) : slots_(slots), index_(slots.take()) {}
    ~Slot() { slots_.taken_.fetch_and(~(std::uint64_t{1} << index_), std::memory_order_release); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    std::byte* memory() const {
      return slots_.memory_ + slots_.bytes_ * static_cast<std::size_t>(index_);
    }

   private:
    ScratchSlots& slots_;
    int index_;
  };

 private:
  static_assert(kMaxScratchTasks <= kMaxSlots);
  int take() {
    std::uint64_t now = taken_.load(std::memory_order_relaxed);
    while (!taken_.compare_exchange_weak(now, now | (now + 1), std::memory_order_acquire)) {
    }
    return std::countr_one(now);
  }

  std::byte* memory_;
  std::size_t bytes_;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace lockstep
