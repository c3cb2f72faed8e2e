// Chains: calls that depend on one another, run task by task. A task begins as soon as what it
// reads has been written, tasks of later calls first, so that a task finds in the cache what
// another has just written. Which tasks run on which thread, and in which order, changes no bit:
// what each computes is what it computes in a call of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/activity.h"
#include "core/base/clock.h"
#include "core/kernels/base/task_kernel.h"
#include "core/runtime/plan.h"

namespace lockstep {

/// What is to do for the calls of a chain, and what waits for what. It depends on kernels and
/// places in memory, not on threads.
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
  /// By call, and of a call as they may run one after the other.
  const std::vector<Item>& items() const { return items_; }
  /// How many items each waits for, and which wait for it.
  const std::vector<std::int32_t>& waits() const { return waits_; }
  const std::vector<std::vector<std::int32_t>>& followers() const { return followers_; }
  std::size_t calls() const { return calls_; }

 private:
  std::size_t calls_;
  std::vector<Item> items_;
  std::vector<std::int32_t> waits_;
  std::vector<std::vector<std::int32_t>> followers_;
};

/// Runs the calls, which are those that the schedule was made for, on all threads of the pool. The
/// first exception of an item is thrown here when all items that had begun are done. Every item is
/// progress of `activity`. With a clock the nanoseconds of each call's items are returned, else
/// nothing.
std::vector<std::int64_t> run_chain(const ChainSchedule& schedule, std::span<const TaskCall> calls,
                                    ThreadPool& pool, Activity activity, const Clock* clock);

}  // namespace lockstep
