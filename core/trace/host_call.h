// Calls of functions on the host as ops, for what cannot be compiled: Hungarian matching,
// non-maximum suppression. core/ir/host_function.h says what such a function may do.
#pragma once

#include <vector>

#include "core/base/api.h"
#include "core/ir/host_function.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

/// What a function on the host makes of the operands' values (at least one), see
/// ir/host_function.h for what it may do. It has no gradient: error kUsage of gradients(), naming
/// it and its line, if one is asked for through a float result and a float operand; stop_gradient()
/// either.
Tensor host_call(const HostFunction& function, ArrayRef<Tensor> operands, const Type& result,
                 Where where = Where::current());
/// The same with a tensor for each of several results.
std::vector<Tensor> host_call(const HostFunction& function, ArrayRef<Tensor> operands,
                              ArrayRef<Type> results, Where where = Where::current());

}  // namespace lockstep
