// Calls of functions on the host as ops, for code that cannot be compiled: Hungarian matching,
// non-maximum suppression. core/ir/host_function.h says what such a function may do.
#pragma once

#include <vector>

#include "core/base/api.h"
#include "core/ir/host_function.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

/// The result of a function on the host for the operands' values (at least one operand); see
/// ir/host_function.h for what it may do. It has no gradient: gradients() raises error kUsage with
/// its name and line if a gradient would pass from a float result to a float operand. Apply
/// stop_gradient() to either to avoid the error.
Tensor host_call(const HostFunction& function, ArrayRef<Tensor> operands, const Type& result,
                 Where where = Where::current());
/// The same with a tensor for each of several results.
std::vector<Tensor> host_call(const HostFunction& function, ArrayRef<Tensor> operands,
                              ArrayRef<Type> results, Where where = Where::current());

}  // namespace lockstep
