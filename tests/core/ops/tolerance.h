// How far a kernel's result may be from the exact one: bounds derived per op, not tuned.
//
// The exact result r is the oracle's in f64, where the operands are exact. A kernel computes an
// element with an absolute error of at most b in its own arithmetic and rounds it to the result's
// dtype once, so that what it stores lies between round(r - b) and round(r + b). NaN must be NaN.
// With u = 2^-24, the unit roundoff of f32 (in which 16-bit floats are computed, too), and
// gamma(n) = n u / (1 - n u):
//
//   moving, choosing, comparing, making integers    b = 0
//   what IEEE rounds correctly (+ - * / sqrt, ...)  b = 2^-126: denormals may be flushed
//   elementary functions                            b = promised ulps * 2u |r| + 2^-126
//   sums of n terms in any order                    b = gamma(n) * sum |terms|, which is the same
//                                                   op on absolute values (Higham, Accuracy and
//                                                   Stability of Numerical Algorithms, 3.1 and 4.2)
//   products of n factors in any order              b = gamma(n) |r|
//   attention                                       see attention_tolerance.cpp
#pragma once

#include <string>
#include <vector>

#include "tests/core/ops/op_cases.h"
#include "tests/roundoff/roundoff.h"

namespace lockstep {

/// Empty if `result` is acceptable as the result of the case; else says where it is not.
std::string find_error(const OpCase& op_case, const HostTensor& result);

// For the bounds themselves.

constexpr double kRoundoff = 0x1p-24;         ///< of f32
constexpr double kSmallestNormal = 0x1p-126;  ///< of f32

/// The relative error of n roundings to f32.
inline double gamma(double n) {
  return gamma(n, kRoundoff);
}

/// The result in f64, with the operands at `absolute` replaced by their absolute values.
std::vector<double> exact_result(const OpCase& op_case,
                                 const std::vector<std::size_t>& absolute = {});

/// b for every element of kAttention and kAttentionGrad.
std::vector<double> attention_bound(const OpCase& op_case);

}  // namespace lockstep
