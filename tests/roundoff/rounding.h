// The arithmetic of estimates: roundings, granularities, propagation of errors.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tests/roundoff/estimate.h"
#include "tests/roundoff/roundoff.h"

namespace lockstep::testing {

double arithmetic_roundoff(DType dtype);  ///< of its arithmetic: f32 for 16-bit floats
double smallest_of(DType dtype);          ///< below this, numbers may be flushed or lose bits
double flushed_of(DType dtype);           ///< below this, arithmetic may give zero
double largest_of(DType dtype);           ///< finite number of its arithmetic
double denorm_min_of(DType dtype);        ///< smallest positive number that is stored
/// The unit in the last place of x, a normal number, in the arithmetic of `dtype`.
double ulp_of(DType dtype, double x);

/// The largest power of two that divides x; x is finite and not 0.
double lowest_bit(double x);
/// The largest power of two that divides all elements; 0 if one is not finite, 2^100 for zeros.
double granularity(const HostTensor& value);
/// Whether all integers are below 2^53.
bool fits_double(const HostTensor& integers);

/// The values of estimates, without their errors.
std::vector<HostTensor> values_of(std::span<const Estimate* const> estimates);

/// The value of the node with its floats and operands in f64, so that nothing is rounded.
HostTensor evaluate_wide(const Node& node, const std::vector<HostTensor>& operands);
/// The value of the unchanged node, rounded as the oracle rounds.
HostTensor evaluate_narrow(const Node& node, const std::vector<HostTensor>& operands);

/// A float result from its unrounded elements and the maximum error of arithmetic before it rounds
/// to the node's dtype; nothing if it is open whether an element is finite.
std::optional<Estimate> rounded(const Node& node, HostTensor unrounded, std::vector<double> error);

/// Maximum error of an elementary function in units in the last place; 0 for all other elementwise
/// ops, whose result IEEE arithmetic defines in every bit.
double promised_ulps(Op op);
/// Elementwise ops that return one of their operands, or a value that every float dtype has.
bool rounds_nothing(Op op);

struct Inexact {
  double value;
  double error;
};
/// The maximum distance of f(operands) from `result`, f of the values, if the operands have their
/// errors; nothing if it is unbounded.
std::optional<double> propagate(Op op, std::span<const Inexact> operands, double result);

// estimate_attention.cpp
std::optional<Estimate> estimate_attention(const Node& node, std::span<const Estimate* const> in);
std::optional<Estimate> estimate_attention_grad(const Node& node,
                                                std::span<const Estimate* const> in);

}  // namespace lockstep::testing
