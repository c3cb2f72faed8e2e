// Working memory of tasks that run at once. A task takes the first free slot, so that few threads
// reuse few slots, which stay in their caches; all of them are reserved, since kernels do not know
// how many threads there are.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/kernels/cpu/grid.h"

namespace lockstep {

/// One call's slots for up to kMaxScratchTasks tasks, `bytes` each.
class ScratchSlots {
 public:
  ScratchSlots(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}

  /// Held until it is destroyed.
  class Slot {
   public:
    explicit Slot(ScratchSlots& slots) : slots_(slots), index_(slots.take()) {}
    ~Slot() { slots_.taken_.fetch_and(~(std::uint32_t{1} << index_), std::memory_order_release); }
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
  static_assert(kMaxScratchTasks <= 32);
  int take() {
    std::uint32_t now = taken_.load(std::memory_order_relaxed);
    while (!taken_.compare_exchange_weak(now, now | (now + 1), std::memory_order_acquire)) {
    }
    return std::countr_one(now);
  }

  std::byte* memory_;
  std::size_t bytes_;
  std::atomic<std::uint32_t> taken_{0};
};

}  // namespace lockstep
