// Chains: calls that depend on one another, run task by task. A task begins as soon as its operands
// have been written, tasks of later calls first, so that a task finds in the cache what another has
// just written. Threads and order of the tasks change no bit: each task computes the same as in a
// separate call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/activity.h"
#include "core/base/clock.h"
#include "core/kernels/base/task_kernel.h"
#include "core/runtime/plan.h"

namespace lockstep {

/// The work items of a chain's calls and their dependencies. They depend on kernels and places in
/// memory, not on threads.
class ChainSchedule {
 public:
  /// `commands`: of the chain, in order; each has a kernel.
  ChainSchedule(std::span<const Command> commands, std::span<const TaskKernel* const> kernels);

  struct Item {
    enum class Kind : std::uint8_t { kBegin, kTask, kFinish };
    Kind kind = Kind::kTask;
    std::int32_t call = 0;
    std::int64_t task = 0;
  };
  /// Sorted by call; the items of a call are in an order in which they may run one after the other.
  const std::vector<Item>& items() const { return items_; }
  /// The number of items that each item waits for, and the items that wait for it.
  const std::vector<std::int32_t>& waits() const { return waits_; }
  const std::vector<std::vector<std::int32_t>>& followers() const { return followers_; }
  std::size_t calls() const { return calls_; }

 private:
  std::size_t calls_;
  std::vector<Item> items_;
  std::vector<std::int32_t> waits_;
  std::vector<std::vector<std::int32_t>> followers_;
};

/// Runs the calls that the schedule was made for, on all threads of the pool. The first exception
/// of an item is rethrown after all started items are done. Every item is progress of `activity`.
/// With a clock, returns the nanoseconds of each call's items, else nothing.
std::vector<std::int64_t> run_chain(const ChainSchedule& schedule, std::span<const TaskCall> calls,
                                    ThreadPool& pool, Activity activity, const Clock* clock);

}  // namespace lockstep
