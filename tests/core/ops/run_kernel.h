// Runs a production kernel on the operands of a case.
#pragma once

#include <optional>

#include "core/base/thread_pool.h"
#include "core/ir/target.h"
#include "core/kernels/base/kernel.h"
#include "tests/core/ops/op_cases.h"

namespace lockstep {

/// How a kernel is run; no option may change a bit of the result.
struct RunOptions {
  /// Every operand and the result begin this many elements after a 64-byte boundary.
  std::size_t shift = 0;
  /// The result reuses this operand's memory.
  std::optional<std::size_t> in_place = {};
};

std::shared_ptr<const Kernel> make_kernel(const OpCase& op_case, const Target& target);

/// The result. Memory that the kernel must not read before it writes it is filled with NaNs; a
/// write outside the result is an error kInternal.
HostTensor run_kernel(const Kernel& kernel, const OpCase& op_case, ThreadPool& pool,
                      const RunOptions& options = {});

}  // namespace lockstep
