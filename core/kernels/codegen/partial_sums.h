// Partial results of sums: f32 for floats of any size, else the dtype itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"

namespace lockstep::codegen {

/// to[i] += from[i], partial results of `dtype`.
void add_partials(DType dtype, const std::byte* from, std::int64_t count, std::byte* to);

/// to[i] = from[i], rounded to dtype.
void store_partials(DType dtype, const std::byte* from, std::int64_t count, std::byte* to);

/// The one result: the sum of `count` partial results by halves. They are overwritten.
void sum_total(DType dtype, std::byte* parts, std::int64_t count, std::byte* result);

}  // namespace lockstep::codegen
