// The common parts of tests of layers: a model's root, a trace, and values of recorded tensors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/kernels/reference/reference.h"
#include "core/nn/module.h"
#include "core/trace/cut_trace.h"

namespace lockstep {

/// A root module, its trace, and the reference that computes what layers record.
struct LayerTest : testing::Test {
  /// An input with the elements 1, 2, 3, ... times `factor`.
  Tensor counting(const Shape& shape, double factor = 1.0) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      values.push_back(factor * static_cast<double>(i + 1));
    return value(from_doubles(DType::kF32, shape, values));
  }
  Tensor value(const HostTensor& tensor) {
    return context.tensor(std::make_shared<HostScalar>(tensor), InputKind::kParameter, "x");
  }

  /// The value of the only live recipe.
  std::vector<float> value_of(const Tensor& tensor) {
    const CutTrace cut = context.cut();
    std::vector<HostTensor> inputs;
    for (const TensorValuePtr& input : cut.inputs) inputs.push_back(input->to_host());
    const std::vector<HostTensor> outputs = evaluate_reference(cut.graph, inputs);
    EXPECT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].shape(), tensor.shape());
    cut.bind(std::vector<TensorValuePtr>{std::make_shared<HostScalar>(outputs[0])});
    const auto values = outputs[0].as<float>();
    return {values.begin(), values.end()};
  }
  /// Expects that all recorded nodes except inputs have this origin: "norm_test.cpp:9 (h.norm)".
  void expect_origin(const std::string& place) {
    for (const Node& node : context.pending().nodes) {
      if (node.op == Op::kInput) continue;
      EXPECT_EQ(node.origin.to_string(), place);
    }
  }
  const Parameter& parameter(const std::string& name) {
    for (const Parameter& p : parameters.all())
      if (p.name == name) return p;
    throw std::out_of_range(name);
  }
  Tensor& value_of_parameter(const std::string& name) {
    return const_cast<Parameter&>(parameter(name)).value;
  }

  TraceContext context;
  Module root;
  ParameterSet& parameters = root.parameters();
};

}  // namespace lockstep
