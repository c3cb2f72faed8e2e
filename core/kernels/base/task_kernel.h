// Kernels whose call consists of tasks that do not depend on one another, between a function before
// and one after all of them. Several such calls can run as one, so that many small ones keep all
// threads busy, and threads start only once; or as a chain (core/runtime/chain.h), so that a task
// finds in the cache what another kernel's task has just written.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "core/kernels/base/kernel.h"

namespace lockstep {

/// Bytes [begin, end) of an operand or result; by default all of it.
struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  bool is_part() const { return *this != Extent{}; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

class TaskKernel : public Kernel {
 public:
  void run(const KernelCall& call) const override;
  bool joins_bundles() const override { return true; }
  const TaskKernel* as_tasks() const override { return this; }
  /// The number of tasks of a call; depends on the node alone.
  virtual std::int64_t tasks() const = 0;
  /// Runs on the caller's thread before the first task.
  virtual void begin(const KernelCall& call) const { (void)call; }
  virtual void run_task(const KernelCall& call, std::int64_t task) const = 0;
  /// Runs on the caller's thread when all tasks are done.
  virtual void finish(const KernelCall& call) const = 0;

  // Accesses of tasks, begin() and finish(), for chains.

  /// Whether begin() reads the operand.
  virtual bool begins_with(std::size_t operand) const {
    (void)operand;
    return false;
  }
  /// The extent in which a task reads the operand, or writes the result, at most.
  virtual Extent reads(std::int64_t task, std::size_t operand) const {
    (void)task;
    (void)operand;
    return {};
  }
  virtual Extent writes(std::int64_t task, std::size_t result) const {
    (void)task;
    (void)result;
    return {};
  }
  /// Whether finish() writes the result, and no task does.
  virtual bool finishes(std::size_t result) const {
    (void)result;
    return false;
  }
};

struct TaskCall {
  const TaskKernel& kernel;
  KernelCall call;
};

/// Runs calls that do not depend on one another and share no memory that one of them writes. The
/// results have the same bits as if the calls ran one after the other.
void run_together(std::span<const TaskCall> calls, ThreadPool& pool);

}  // namespace lockstep
