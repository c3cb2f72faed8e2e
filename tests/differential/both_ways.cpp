#include "tests/differential/both_ways.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/ir/text.h"
#include "core/kernels/reference/reference.h"
#include "tests/fixtures/host_functions.h"
#include "tests/fixtures/tested_target.h"
#include "tests/roundoff/rounding.h"
#include "trainer/cli/run_graph.h"

namespace lockstep::testing {
namespace {

/// A bound must not be zero where the sample happens to be exact.
constexpr double kFewRoundings = 8;

std::vector<HostTensor> widened(const std::vector<HostTensor>& inputs) {
  std::vector<HostTensor> out;
  for (const HostTensor& x : inputs)
    out.push_back(is_float(x.dtype()) ? from_doubles(DType::kF64, x.shape(), to_doubles(x)) : x);
  return out;
}

std::string compare_output(const HostTensor& compiled, const HostTensor& rounded,
                           const HostTensor& exact) {
  if (compiled.dtype() != rounded.dtype() || compiled.shape() != rounded.shape())
    return "has another type";
  if (!is_float(compiled.dtype()))
    return std::ranges::equal(compiled.bytes(), rounded.bytes()) ? "" : "differs";
  const std::vector<double> got = to_doubles(compiled);
  const std::vector<double> sample = to_doubles(rounded);
  const std::vector<double> want = to_doubles(exact);
  double difference = 0, sampled = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool finite = std::isfinite(sample[i]);
    if (!finite || !std::isfinite(got[i])) {
      const bool alike = std::isnan(sample[i]) ? std::isnan(got[i]) : got[i] == sample[i];
      if (!alike) return fmt::format("element {} is {}, not {}", i, got[i], sample[i]);
      continue;
    }
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    sampled += (sample[i] - want[i]) * (sample[i] - want[i]);
    size += want[i] * want[i];
  }
  const double bound = kSampleFactor * std::sqrt(sampled) +
                       kFewRoundings * roundoff_of(compiled.dtype()) * std::sqrt(size) +
                       smallest_of(compiled.dtype()) * static_cast<double>(got.size());
  if (std::sqrt(difference) <= bound) return "";
  return fmt::format("is off by {:.3g} (2-norm, of {:.3g}), but the rounded reference by {:.3g}",
                     std::sqrt(difference), std::sqrt(size), std::sqrt(sampled));
}

}  // namespace

std::string compare_both_ways(const Graph& graph, const std::vector<HostTensor>& inputs) {
  const HostFunctions functions = only_reverse();
  const std::vector<HostTensor> compiled =
      run_compiled(graph, inputs, 1, tested_target(), Log::null(), functions);
  const std::vector<HostTensor> rounded = run_reference(graph, inputs, functions);
  const std::vector<HostTensor> exact =
      evaluate_reference(to_f64(graph), widened(inputs), functions);
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    const std::string wrong = compare_output(compiled[i], rounded[i], exact[i]);
    if (!wrong.empty())
      return fmt::format("output {} {}: {}", i, wrong, print_node(graph, graph.outputs[i]));
  }
  return "";
}

std::vector<HostTensor> plain_inputs(const Graph& graph, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<HostTensor> out;
  for (const ValueId id : graph.inputs) {
    const Node& input = graph[id];
    std::vector<double> elements;
    for (std::int64_t i = 0; i < input.type.elements(); ++i) {
      const auto word = random();
      if (!is_float(input.type.dtype)) {
        elements.push_back(static_cast<double>(word % (input.type.dtype == DType::kBool ? 2 : 4)));
        continue;
      }
      const double scale = input.input_kind == InputKind::kParameter ? 0.25 : 1;
      const double size = scale * (0.25 + 0.75 * static_cast<double>(word >> 40) / 0x1p24);
      const bool negative = input.input_kind != InputKind::kState && word % 2 == 1;
      elements.push_back(negative ? -size : size);
    }
    out.push_back(from_doubles(input.type.dtype, input.type.shape, elements));
  }
  return out;
}

}  // namespace lockstep::testing
