// Kernels whose call is nothing but tasks that do not depend on one another, and what is left to do
// when all of them are done. Several such calls can run as one, so that many small ones keep all
// threads at work, and threads are handed work once.
#pragma once

#include <cstdint>
#include <span>

#include "core/kernels/kernel.h"

namespace lockstep {

class TaskKernel : public Kernel {
 public:
  void run(const KernelCall& call) const final;
  bool has_tasks() const final { return true; }
  const TaskKernel* as_tasks() const final { return this; }
  /// How many tasks a call has, by the node alone.
  virtual std::int64_t tasks() const = 0;
  virtual void run_task(const KernelCall& call, std::int64_t task) const = 0;
  /// Runs on the caller's thread when all tasks are done.
  virtual void finish(const KernelCall& call) const = 0;
};

struct TaskCall {
  const TaskKernel& kernel;
  KernelCall call;
};

/// Runs calls that do not depend on one another and share no memory that one of them writes. Bits
/// are those of one call after the other.
void run_together(std::span<const TaskCall> calls, ThreadPool& pool);

}  // namespace lockstep
