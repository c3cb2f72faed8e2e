// Tensors with values, for tests of the trace.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/ir/text.h"
#include "core/kernels/reference/reference.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"
#include "core/trace/functions.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {

/// An input of this type, full of zeros.
inline Tensor input(TraceContext& context, DType dtype, const Shape& shape,
                    std::string_view name = "x", InputKind kind = InputKind::kParameter) {
  const std::vector<double> zeros(static_cast<std::size_t>(shape.elements()), 0.0);
  return context.tensor(std::make_shared<HostScalar>(from_doubles(dtype, shape, zeros)), kind,
                        name);
}

inline Tensor input(TraceContext& context, const Shape& shape, std::string_view name = "x") {
  return input(context, DType::kF32, shape, name);
}

inline Tensor input_of(TraceContext& context, const std::vector<float>& values,
                       const Shape& shape) {
  return context.tensor(std::make_shared<HostScalar>(HostTensor::of(shape, values)),
                        InputKind::kParameter, "x");
}

/// The node of a pending tensor.
inline const Node& node_of(const Tensor& tensor) {
  return tensor.context().pending()[tensor.context().node_of(tensor)];
}

/// Cuts the trace and evaluates it by the oracle; one result per live tensor, by creation.
inline std::vector<HostTensor> evaluate(TraceContext& context) {
  const CutTrace cut = context.cut();
  std::vector<HostTensor> inputs;
  for (const TensorValuePtr& value : cut.inputs) inputs.push_back(value->to_host());
  std::vector<HostTensor> out = evaluate_reference(cut.graph, inputs, context.host_functions());
  std::vector<TensorValuePtr> values;
  for (const HostTensor& tensor : out) values.push_back(std::make_shared<HostScalar>(tensor));
  cut.bind(values);
  return out;
}

inline std::vector<float> values_of(const HostTensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

}  // namespace lockstep
