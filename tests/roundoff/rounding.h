// The arithmetic behind estimates: roundings, granularities, how errors of elements propagate.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tests/roundoff/estimate.h"
#include "tests/roundoff/roundoff.h"

namespace lockstep::testing {

double arithmetic_roundoff(DType dtype);  ///< of what it is computed in: f32 for 16-bit floats
double smallest_of(DType dtype);          ///< below this, numbers may be flushed or lose bits
double flushed_of(DType dtype);           ///< below this, arithmetic may give zero
double largest_of(DType dtype);           ///< finite number of what it is computed in
double least_of(DType dtype);             ///< positive number that is stored
/// The unit in the last place of x, a normal number, in what `dtype` is computed in.
double ulp_of(DType dtype, double x);

/// The largest power of two that divides x; x is finite and not 0.
double lowest_bit(double x);
/// The largest power of two that divides all elements; 0 if one is not finite, 2^100 for zeros.
double granularity(const HostTensor& value);
/// Whether all integers are below 2^53.
bool fits_double(const HostTensor& integers);

/// The values of estimates, without their errors.
std::vector<HostTensor> values_of(std::span<const Estimate* const> estimates);

/// The node with its floats in f64, so that nothing is rounded; operands likewise.
HostTensor evaluate_wide(const Node& node, const std::vector<HostTensor>& operands);
/// The node as it is, rounded as the oracle rounds.
HostTensor evaluate_narrow(const Node& node, const std::vector<HostTensor>& operands);

/// A float result from its unrounded elements, and how far arithmetic may be from each before it
/// rounds to the node's dtype; nothing if it is open whether an element is finite.
std::optional<Estimate> rounded(const Node& node, HostTensor unrounded, std::vector<double> error);

/// Units in the last place that an elementary function may be off by; 0 of all other elementwise
/// ops, whose result IEEE arithmetic prescribes in every bit.
double promised_ulps(Op op);
/// Elementwise ops that give one of their operands, or what every float dtype holds.
bool rounds_nothing(Op op);

struct Inexact {
  double value;
  double error;
};
/// How far f(operands) may be from `result`, f of the values, if the operands are off by their
/// errors; nothing if anything is possible.
std::optional<double> propagate(Op op, std::span<const Inexact> operands, double result);

// estimate_attention.cpp
std::optional<Estimate> estimate_attention(const Node& node, std::span<const Estimate* const> in);
std::optional<Estimate> estimate_attention_grad(const Node& node,
                                                std::span<const Estimate* const> in);

}  // namespace lockstep::testing
