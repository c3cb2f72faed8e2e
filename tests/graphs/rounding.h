// The arithmetic behind estimates: roundings, granularities, how errors of elements propagate.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tests/graphs/estimate.h"
#include "tests/roundoff/roundoff.h"

namespace lockstep::testing {

double arithmetic_roundoff(DType dtype);  ///< of what it is computed in: f32 for 16-bit floats
double smallest_of(DType dtype);          ///< below this, numbers may be flushed or lose bits

/// The largest power of two that divides x; x is finite and not 0.
double lowest_bit(double x);
/// The largest power of two that divides all elements; 0 if one is not finite, 2^100 for zeros.
double granularity(const HostTensor& value);
/// Whether all integers are below 2^53.
bool fits_double(const HostTensor& integers);

/// The values of estimates, without their errors.
std::vector<HostTensor> values_of(std::span<const Estimate* const> estimates);
/// Whether values and errors are small enough that a difference would be seen.
bool says_something(DType dtype, std::span<const double> values, std::span<const double> errors);

/// The node with its floats in f64, so that nothing is rounded; operands likewise.
HostTensor evaluate_wide(const Node& node, const std::vector<HostTensor>& operands);
/// The node as it is, rounded as the oracle rounds.
HostTensor evaluate_narrow(const Node& node, const std::vector<HostTensor>& operands);

/// Ops whose result IEEE arithmetic prescribes in every bit.
bool is_correctly_rounded(Op op);

struct Inexact {
  double value;
  double error;
};
/// How far f(operands) may be from `result`, f of the values, if the operands are off by their
/// errors; nothing if anything is possible.
std::optional<double> propagate(Op op, std::span<const Inexact> operands, double result);

// attention_estimate.cpp
std::optional<Estimate> estimate_attention(const Node& node, std::span<const Estimate* const> in);
std::optional<Estimate> estimate_attention_grad(const Node& node,
                                                std::span<const Estimate* const> in);

}  // namespace lockstep::testing
