// Production kernels for the cases of ops.
#pragma once

#include <memory>

#include "core/ir/target.h"
#include "tests/core/ops/cases/op_cases.h"
#include "tests/fixtures/run_kernel.h"

namespace lockstep {

std::shared_ptr<const Kernel> make_kernel(const OpCase& op_case, const Target& target);

/// The result of the kernel for the operands of the case; see run_kernel.
HostTensor run_case(const Kernel& kernel, const OpCase& op_case, ThreadPool& pool,
                    const RunOptions& options = {});

}  // namespace lockstep
