// Gradients against central differences in f64, at points away from kinks, ties and poles.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/reference.h"
#include "core/trace/context.h"
#include "core/trace/gradients.h"

namespace lockstep {

/// A sum of terms, and that of their absolute values, which bounds the effect of rounding.
struct SumOfTerms {
  double value = 0;
  double magnitude = 0;
};

/// Empty if `gradient` is the derivative of `evaluate()` with respect to `x`. The allowed error is
/// that of rounding, plus the truncation h^2 L''' / 6, a third of the change when h is doubled;
/// 1e-6 of the derivative allows for terms of higher order.
template <class Evaluate>
std::string find_gradient_error(double gradient, double& x, const Evaluate& evaluate) {
  constexpr double kStep = 1e-5;
  const double center = x;
  const auto at = [&](double moved) -> SumOfTerms {
    x = moved;
    return evaluate();
  };
  const SumOfTerms above = at(center + kStep), below = at(center - kStep);
  const double expected = (above.value - below.value) / (2 * kStep);
  const double wide = (at(center + 2 * kStep).value - at(center - 2 * kStep).value) / (4 * kStep);
  x = center;
  const double rounding = 16 * 0x1p-52 * (above.magnitude + below.magnitude) / kStep;
  const double truncation = std::abs(wide - expected);
  if (std::abs(gradient - expected) <= 1e-6 * (1 + std::abs(expected)) + truncation + rounding)
    return "";
  return fmt::format("gradient {:.9g}, difference {:.9g}", gradient, expected);
}

/// The graph of `loss` alone, with all inputs.
inline Graph graph_of_loss(Graph graph, ValueId loss) {
  graph.outputs = {loss};
  std::vector<bool> keep = find_reachable(graph);
  for (const ValueId input : graph.inputs) keep[static_cast<std::size_t>(input)] = true;
  return keep_only(std::move(graph), keep);
}

/// The errors of the gradients that the trace records of `loss`, a scalar, for `targets`, tensors
/// with f32 values: "" or "target 1, element 3: gradient 2, difference 4". Nodes recorded in f32
/// are evaluated in f64. Cuts the trace.
inline std::string find_gradient_error(const Tensor& loss, const std::vector<Tensor>& targets) {
  const std::vector<Tensor> recorded = gradients(loss, targets);
  const CutTrace cut = loss.context().cut();
  std::vector<HostTensor> inputs;
  for (const TensorValuePtr& input : cut.inputs) {
    const HostTensor value = input->to_host();
    inputs.push_back(is_float(value.dtype())
                         ? from_doubles(DType::kF64, value.shape(), to_doubles(value))
                         : value);
  }
  const auto place_of = [&](const Tensor& output) {
    const auto at = std::ranges::find(cut.outputs, &output.state());
    LS_CHECK(at != cut.outputs.end(), "a tensor is no output of the trace");
    return static_cast<std::size_t>(at - cut.outputs.begin());
  };
  const Graph wide = to_f64(cut.graph);
  const std::vector<HostTensor> outputs = evaluate_reference(wide, inputs);
  const Graph of_loss = graph_of_loss(wide, wide.outputs[place_of(loss)]);
  const auto evaluate = [&]() -> SumOfTerms {
    const double value = to_doubles(evaluate_reference(of_loss, inputs)[0])[0];
    return {value, std::abs(value)};
  };
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const std::vector<double> gradient = to_doubles(outputs[place_of(recorded[t])]);
    const auto input = std::ranges::find(cut.inputs, targets[t].state().value);
    LS_CHECK(input != cut.inputs.end(), "the loss does not depend on target {}", t);
    const auto x = inputs[static_cast<std::size_t>(input - cut.inputs.begin())].as<double>();
    for (std::size_t e = 0; e < x.size(); ++e) {
      const std::string error = find_gradient_error(gradient[e], x[e], evaluate);
      if (!error.empty()) return fmt::format("target {}, element {}: {}", t, e, error);
    }
  }
  return "";
}

}  // namespace lockstep
