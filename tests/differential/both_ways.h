// Whole graphs without estimates of each node: compiled kernels against reference kernels.
#pragma once

#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep::testing {

/// Runs a graph by compiled kernels, by the reference rounded after every node, and by the
/// reference in f64, and compares output by output. Integers and bools must be equal. For floats
/// let e be the f64 result. The rounded reference is one sample of the effect of roundings on this
/// graph and these inputs; the compiled result must be as near to e, in the 2-norm, as that sample,
/// up to a factor of kSampleFactor and a few roundings of e itself. Elements that are not finite
/// must be the same. Returns the error, or nothing.
std::string compare_both_ways(const Graph& graph, const std::vector<HostTensor>& inputs);

inline constexpr double kSampleFactor = 8;

/// Numbers for a graph's inputs, by seed: floats in +-[1/4, 1], parameters a quarter of that (large
/// weights saturate softmaxes, whose gradients then cancel), states positive; integers in 0 ... 3.
std::vector<HostTensor> plain_inputs(const Graph& graph, std::uint64_t seed);

}  // namespace lockstep::testing
