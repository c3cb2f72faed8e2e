// One production kernel on generated operands, for timing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/thread_pool.h"
#include "core/ir/graph.h"
#include "core/ir/target.h"
#include "core/kernels/base/kernel.h"

namespace lockstep {

class SingleKernel {
 public:
  /// op(operands){attrs}, on `threads` threads. Operands are f32, bf16 or f16 and hold numbers of
  /// either sign with a magnitude from 1/2 to 2. oneDNN must be limited to the target before.
  SingleKernel(Op op, std::span<const Type> operands, Attrs attrs, const Target& target,
               int threads = 1);

  void run();

 private:
  ThreadPool pool_;
  std::shared_ptr<const Kernel> kernel_;
  std::vector<BufferPtr> operands_;
  std::vector<const std::byte*> pointers_;
  BufferPtr result_;
  BufferPtr scratch_;
};

}  // namespace lockstep
