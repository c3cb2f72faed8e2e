// The structure of gradients(); the numbers of every op are checked in tests/core/ops.
#include "core/trace/gradients.h"

#include <gtest/gtest.h>

#include "core/trace/context.h"
#include "tests/core/trace/inputs.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

Tensor gradient(const Tensor& loss, const Tensor& target) {
  return gradients(loss, std::vector<Tensor>{target})[0];
}

/// The value of one pending tensor.
std::vector<float> value_of(const Tensor& tensor) {
  TraceContext& context = tensor.context();
  evaluate(context);
  return values_of(tensor.to_host());
}

TEST(Gradients, AddOverAllPathsToATarget) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  EXPECT_THAT(value_of(gradient(sum(x * x + x), x)), ElementsAre(3, 5));
}

TEST(Gradients, AreZeroForATargetThatTheLossIgnores) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  const Tensor other = input_of(context, {1, 2, 3}, Shape{3});
  EXPECT_THAT(value_of(gradient(sum(x), other)), ElementsAre(0, 0, 0));
}

TEST(Gradients, ReachTargetsInsideTheGraph) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  const Tensor y = x * 3.0;
  const std::vector<Tensor> both = gradients(sum(y * y), std::vector<Tensor>{x, y});
  evaluate(context);
  EXPECT_THAT(values_of(both[0].to_host()), ElementsAre(18, 36));
  EXPECT_THAT(values_of(both[1].to_host()), ElementsAre(6, 12));
}

TEST(Gradients, AtTiesAreHalvedButNothingWhereAConstantTies) {
  TraceContext context;
  const Tensor x = input_of(context, {-1, 0, 1}, Shape{3});
  const Tensor y = input_of(context, {0, 0, 0}, Shape{3});
  const auto slopes = [&](const Tensor& of, const Tensor& by) {
    return value_of(gradient(sum(of * 2.0), by));
  };
  EXPECT_THAT(slopes(maximum(x, y), x), ElementsAre(0, 1, 2));
  EXPECT_THAT(slopes(minimum(x, y), y), ElementsAre(0, 1, 2));
  EXPECT_THAT(slopes(relu(x), x), ElementsAre(0, 0, 2)) << "as PyTorch's";
  EXPECT_THAT(slopes(maximum(0.0, x), x), ElementsAre(0, 0, 2));
  EXPECT_THAT(slopes(minimum(x, 0.0), x), ElementsAre(2, 0, 0));
}

TEST(Gradients, OfASliceAreZeroWhereItTookNothing) {
  TraceContext context;
  const auto taken = [&](const Shape& shape, const std::vector<std::int64_t>& start,
                         const std::vector<std::int64_t>& limit,
                         const std::vector<std::int64_t>& stride) {
    const std::vector<float> ones(static_cast<std::size_t>(shape.elements()), 1.0F);
    const Tensor x = input_of(context, ones, shape);
    return value_of(gradient(sum(slice(x, start, limit, stride)), x));
  };
  EXPECT_THAT(taken({7}, {1}, {7}, {3}), ElementsAre(0, 1, 0, 0, 1, 0, 0)) << "more than a stride";
  EXPECT_THAT(taken({5}, {0}, {5}, {2}), ElementsAre(1, 0, 1, 0, 1)) << "less than a stride";
  EXPECT_THAT(taken({3}, {1}, {3}, {std::int64_t{1} << 50}), ElementsAre(0, 1, 0)) << "one element";
  EXPECT_THAT(taken({3}, {1}, {1}, {2}), ElementsAre(0, 0, 0)) << "none";
  EXPECT_THAT(taken({2, 1, 1, 1, 1, 1, 1, 3}, {0, 0, 0, 0, 0, 0, 0, 0}, {2, 1, 1, 1, 1, 1, 1, 3},
                    {1, 1, 1, 1, 1, 1, 1, 2}),
              ElementsAre(1, 0, 1, 1, 0, 1))
      << "of as many dimensions as there may be";
}

TEST(Gradients, OfGradientsAreSecondDerivatives) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  const Tensor first = gradient(sum(x * x * x), x);
  EXPECT_THAT(value_of(gradient(sum(first), x)), ElementsAre(6, 12));
}

TEST(Gradients, DoNotFlowThroughComparisonsAndIntegers) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  const Tensor steps = convert(convert(x, DType::kI32), DType::kF32);
  EXPECT_THAT(value_of(gradient(sum(select(greater(x, 1.5), x, 0.0) + steps), x)),
              ElementsAre(0, 1));
}

TEST(Gradients, RecordNothingForWhatNoTargetNeeds) {
  TraceContext context;
  const Tensor x = input(context, Shape{2, 3});
  const Tensor w = input(context, Shape{3, 4});
  const Tensor loss = sum(matmul(x, w));
  const Tensor only_w = gradient(loss, w);
  int dots = 0;
  for (const Node& node : context.pending().nodes) dots += node.op == Op::kDotGeneral ? 1 : 0;
  EXPECT_EQ(dots, 2) << "the forward one and that for w";
}

TEST(Gradients, HaveTheTypesOfTheirTargets) {
  TraceContext context;
  const Tensor x = input(context, DType::kBF16, Shape{2, 3});
  const Tensor w = input(context, DType::kF32, Shape{3, 4});
  const Tensor loss = sum(convert(matmul(x, convert(w, DType::kBF16)), DType::kF32));
  const std::vector<Tensor> both = gradients(loss, std::vector<Tensor>{x, w});
  EXPECT_EQ(both[0].type(), x.type());
  EXPECT_EQ(both[1].type(), w.type());
}

TEST(Gradients, OfAParameterThroughItsBf16CopyAreNotRounded) {
  TraceContext context;
  const Tensor x = convert(input_of(context, {1, 0x1p-10F}, Shape{2, 1}), DType::kBF16);
  const Tensor w = input_of(context, {1}, Shape{1, 1});
  const Tensor y = linear(x, w, nullptr, false) + linear(x, w, nullptr, true);
  const Tensor grad = gradient(sum(convert(y, DType::kF32)), w);
  const ValueId root = context.node_of(grad);
  EXPECT_EQ(context.pending()[root].op, Op::kAdd) << "of two f32 dots, not of their bf16 roundings";
  EXPECT_THAT(value_of(grad), ElementsAre(2 + 0x1p-9F));
}

TEST(Gradients, OfABf16ValueAreAddedInF32AndRoundedOnce) {
  TraceContext context;
  const Tensor x = convert(input_of(context, {1}, Shape{1}), DType::kBF16);
  const Tensor wide = convert(x, DType::kF32);
  // Added one after the other in bf16, whose step is 2^-7 here, the small ones would be lost.
  const Tensor loss =
      sum(convert(x, DType::kF32) * 0x1p-9 + convert(x, DType::kF32) * 0x1p-8 + wide);
  const Tensor grad = gradient(loss, x);
  EXPECT_EQ(grad.dtype(), DType::kBF16);
  EXPECT_THAT(value_of(convert(grad, DType::kF32)), ElementsAre(1 + 0x1p-7F));
}

TEST(Gradients, OfAWeightNeedNoTransposeInEitherLayout) {
  for (const bool transposed : {false, true}) {
    TraceContext context;
    const Tensor x = input(context, Shape{5, 7, 2});
    const Tensor w = input(context, transposed ? Shape{3, 2} : Shape{2, 3});
    const Tensor grad = gradient(sum(linear(x, w, nullptr, transposed)), w);
    EXPECT_EQ(node_of(grad).op, Op::kDotGeneral);
  }
}

TEST(Gradients, StopAtAConstantInTheirEyes) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  EXPECT_THAT(value_of(gradient(sum(x * stop_gradient(x * 3.0)), x)), ElementsAre(3, 6));
}

TEST(Gradients, OfACopyAreThoseOfItsOriginal) {
  TraceContext context;
  const Tensor original = input_of(context, {1, 2}, Shape{1, 2});
  const Tensor copy = input(context, DType::kBF16, Shape{1, 2});
  const Tensor x = input_of(context, {1, 0x1p-10F}, Shape{2, 1});
  const Tensor y = matmul(convert(x, DType::kBF16), stand_in(copy, original));
  const Tensor grad = gradient(sum(convert(y, DType::kF32)) + sum(original), original);
  EXPECT_THAT(value_of(grad), ElementsAre(2 + 0x1p-10F, 2 + 0x1p-10F)) << "not rounded to bf16";
}

TEST(StandIn, NeedsTheShapeOfItsOriginal) {
  TraceContext context;
  const Tensor original = input(context, Shape{2});
  const Tensor copy = input(context, DType::kBF16, Shape{3});
  EXPECT_THAT(error_of([&] { (void)stand_in(copy, original); }),
              testing::EndsWith("bf16[3] cannot stand in for f32[2]"));
}

TEST(Gradients, OfACallAreThoseOfItsBody) {
  TraceContext context;
  const auto body = std::make_shared<const Graph>(parse(R"(
    %a = f32[2] input() {kind=state}
    %b = f32[2] input() {kind=state}
    %y = f32[2] multiply(%a, %b)
    return %y)",
                                                        "body.ir"));
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  const Tensor y = x * 10.0;
  // x reaches the call twice: once as itself, once through y.
  const Tensor out = call(body, std::vector<Tensor>{x, y});
  EXPECT_THAT(value_of(gradient(sum(out), x)), ElementsAre(20, 40));
}

TEST(Gradients, NeedAFloatScalar) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  const int line = __LINE__ + 1;
  const auto wrong = [&] { (void)gradients(x * 2.0, std::vector<Tensor>{x}); };
  EXPECT_EQ(
      error_of(wrong),
      fmt::format("2: gradients_test.cpp:{}: gradients need a float scalar as loss, but it is "
                  "f32[2]",
                  line));
}

TEST(Gradients, NameTheLineOfAnOpWithoutOne) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  const Tensor total = all_reduce(x);
  const int line = __LINE__ - 1;
  EXPECT_EQ(error_of([&] { (void)gradient(sum(total), x); }),
            fmt::format("2: gradients_test.cpp:{}: all_reduce has no gradient", line));
}

TEST(Gradients, ThatFailLeaveTheTraceUsable) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  const Tensor loss = sum(all_reduce(x));
  EXPECT_NE(error_of([&] { (void)gradient(loss, x); }), "no error");
  EXPECT_EQ(node_of(x + 1.0).origin.line, static_cast<std::uint32_t>(__LINE__));
}

TEST(Call, ChecksItsOperands) {
  TraceContext context;
  const auto body = std::make_shared<const Graph>(
      parse("%a = f32[2] input() {kind=state}\nreturn %a", "body.ir"));
  const Tensor x = input(context, Shape{3});
  const int line = __LINE__ + 1;
  const auto wrong_type = [&] { (void)call(body, std::vector<Tensor>{x}); };
  EXPECT_EQ(
      error_of(wrong_type),
      fmt::format("2: gradients_test.cpp:{}: operand 0 of the call is f32[3], not f32[2]", line));
  const auto wrong_number = [&] { (void)call(body, std::vector<Tensor>{x, x}); };
  EXPECT_THAT(error_of(wrong_number),
              testing::HasSubstr("the called graph takes 1 operands, but 2 are given"));
}

}  // namespace
}  // namespace lockstep
