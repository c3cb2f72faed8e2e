// Local rules that bring data movement into one form. All of them are exact: no element changes.
#pragma once

#include <span>

#include "core/passes/rewrite.h"

namespace lockstep {

/// - nothing moved: reshape, transpose, broadcast and dynamic_slice to the same shape, slice of
///   everything, pad by zero, concatenate of one, dynamic_update_slice of everything, product,
///   maximum and minimum over no dimension -> the operand (or the update). Not the sum: it starts
///   from 0 and makes 0 of -0
/// - reshape(reshape(x)), transpose(transpose(x)), broadcast(broadcast(x)), slice(slice(x)) -> one
/// - a transpose that moves only dimensions of size 1, and a broadcast that repeats nothing, are
///   reshapes (which cost nothing)
/// - broadcast(reshape(x)) -> broadcast(x), if the reshape only inserts dimensions of size 1
/// - op(reshape(x), ...) of an elementwise op -> reshape(op(x, ...)), if the reshapes only insert
///   dimensions of size 1 and all else is a broadcast scalar
/// - broadcast(convert(x)) -> convert(broadcast(x)); broadcast(iota) -> iota; neither of scalars
/// - the dimensions of a reduction are sorted
/// - reshape, transpose and slice of a broadcast scalar -> a broadcast of the scalar
/// - dynamic_slice at constant places -> slice
/// An optimization_barrier is never looked through.
std::span<const Rule> movement_rules();

}  // namespace lockstep
