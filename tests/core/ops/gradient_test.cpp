// The recorded gradient of every op against central differences, both evaluated by the oracle in
// f64 at points away from kinks, ties and poles.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/kernels/reference/reference.h"
#include "core/trace/cut_trace.h"
#include "core/trace/gradient_rule.h"
#include "core/trace/gradients.h"
#include "tests/core/ops/cases/op_cases.h"
#include "tests/core/ops/test_name.h"
#include "tests/fixtures/central_differences.h"
#include "tests/fixtures/host_functions.h"

namespace lockstep {
namespace {

bool is_differentiated(const HostTensor& operand) {
  return operand.dtype() == DType::kF64;
}

/// A loss: the elements of the case's result, weighted with numbers that tell them apart.
std::vector<double> loss_weights(const OpCase& c) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < c.node().type.elements(); ++i)
    out.push_back(1 + std::sin(static_cast<double>(3 * i + 1)));
  return out;
}

SumOfTerms evaluate_loss(const OpCase& c, const std::vector<double>& weights) {
  const std::vector<double> result =
      to_doubles(evaluate_reference_node(c.node(), c.operands, only_reverse())[0]);
  SumOfTerms out;
  for (std::size_t i = 0; i < result.size(); ++i) {
    out.value += weights[i] * result[i];
    out.magnitude += std::abs(weights[i] * result[i]);
  }
  return out;
}

/// The gradients that the trace records, one per differentiated operand.
std::vector<std::vector<double>> recorded_gradients(const OpCase& c) {
  TraceContext context;
  std::vector<Tensor> operands;
  std::vector<Tensor> targets;
  for (const HostTensor& operand : c.operands) {
    operands.push_back(
        context.tensor(std::make_shared<HostScalar>(operand), InputKind::kParameter, "operand"));
    if (is_differentiated(operand)) targets.push_back(operands.back());
  }
  const auto record_loss = [&] {
    const Tensor out =
        c.body != nullptr ? call(c.body, operands) : context.record(c.op, operands, c.attrs);
    return sum(convert(out, DType::kF64) *
               context.constant(from_doubles(DType::kF64, out.shape(), loss_weights(c))));
  };
  const Tensor loss = record_loss();
  const std::vector<Tensor> gradient = gradients(loss, targets);

  const CutTrace cut = context.cut();
  std::vector<HostTensor> inputs;
  for (const TensorValuePtr& input : cut.inputs) inputs.push_back(input->to_host());
  const std::vector<HostTensor> outputs = evaluate_reference(cut.graph, inputs);
  std::vector<std::vector<double>> out;
  for (const Tensor& tensor : gradient) {
    const auto at = std::find(cut.outputs.begin(), cut.outputs.end(), &tensor.state());
    LS_CHECK(at != cut.outputs.end(), "a gradient is no output of the trace");
    out.push_back(to_doubles(outputs[static_cast<std::size_t>(at - cut.outputs.begin())]));
  }
  return out;
}

/// Fails if a recorded gradient is none by central differences.
void check_gradients(const OpCase& c) {
  const std::vector<double> weights = loss_weights(c);
  const std::vector<std::vector<double>> recorded = recorded_gradients(c);
  std::size_t target = 0;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    if (!is_differentiated(c.operands[i])) continue;
    const std::vector<double>& gradient = recorded[target++];
    RC_ASSERT(static_cast<std::int64_t>(gradient.size()) == c.operands[i].shape().elements());
    OpCase moved = c;
    moved.operands[i] = from_doubles(DType::kF64, c.operands[i].shape(), to_doubles(c.operands[i]));
    const std::span<double> x = moved.operands[i].as<double>();
    for (std::size_t e = 0; e < x.size(); ++e) {
      const std::string error =
          find_gradient_error(gradient[e], x[e], [&] { return evaluate_loss(moved, weights); });
      if (!error.empty()) RC_FAIL(fmt::format("operand {}, element {}: {}", i, e, error));
    }
  }
}

class GradientOf : public ::testing::TestWithParam<Op> {};

TEST_P(GradientOf, MatchesDifferences) {
  rc::detail::checkGTest(
      [&] { check_gradients(*cases_of(GetParam(), CaseKind::kGradient).value()); });
}

class MissingGradientOf : public ::testing::TestWithParam<Op> {};

TEST_P(MissingGradientOf, IsAnErrorThatNamesTheOp) {
  const OpCase c = (*cases_of(GetParam(), CaseKind::kGradient))(rc::Random(1)).value();
  try {
    recorded_gradients(c);
    FAIL() << "was differentiated";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find(std::string(name_of(GetParam())) + " has no gradient"),
              std::string::npos)
        << error.what();
  }
}

/// Ops that user code can apply to floats, with or without a gradient.
std::vector<Op> ops_of_floats(bool missing) {
  std::vector<Op> out = all_ops();
  std::erase_if(out, [&](Op op) {
    const auto cases = cases_of(op, CaseKind::kGradient);
    if (!cases || op == Op::kFusion) return true;  // groups are made by passes only
    const OpCase c = (*cases)(rc::Random(1)).value();
    return std::none_of(c.operands.begin(), c.operands.end(), is_differentiated) ||
           (gradient_rule(op) == gradient_missing) != missing;
  });
  return out;
}

INSTANTIATE_TEST_SUITE_P(Ops, GradientOf, ::testing::ValuesIn(ops_of_floats(false)), test_name);
INSTANTIATE_TEST_SUITE_P(Ops, MissingGradientOf, ::testing::ValuesIn(ops_of_floats(true)),
                         test_name);

}  // namespace
}  // namespace lockstep
