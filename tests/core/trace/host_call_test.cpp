// How a call of a function on the host is recorded and differentiated.
#include "core/trace/host_call.h"

#include "core/trace/context.h"
#include "core/trace/gradients.h"
#include "tests/core/trace/inputs.h"
#include "tests/fixtures/host_functions.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

Tensor gradient_of_sum(const Tensor& x, const Tensor& target) {
  return gradients(sum(x), std::vector<Tensor>{target})[0];
}

/// Costs [N] -> how many are positive, i32[], and the costs again, of the dtype they had.
HostFunction count_positive() {
  return {"count_positive", 1, [](std::span<const HostTensor> in, std::span<HostTensor> out) {
            for (const float x : in[0].as<float>()) out[0].as<std::int32_t>()[0] += x > 0 ? 1 : 0;
            out[1] = in[0];
          }};
}
const std::vector<Type> kCountAndCosts = {{DType::kI32, Shape{}}, {DType::kF32, Shape{3}}};

TEST(HostCall, IsOneNodeWithItsFurtherResultsBehindIt) {
  TraceContext context;
  const Tensor x = input_of(context, {1, -2, 3}, Shape{3});
  const std::vector<Tensor> out = host_call(count_positive(), {x}, kCountAndCosts);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(node_of(out[0]).op, Op::kHostCall);
  EXPECT_EQ(node_of(out[1]).op, Op::kGroupResult);
  EXPECT_EQ(context.node_of(out[1]), context.node_of(out[0]) + 1);
  EXPECT_EQ(node_of(out[1]).origin.line, node_of(out[0]).origin.line);
  EXPECT_EQ(node_of(out[0]).attrs.text(Attr::kFunction), "count_positive");
  EXPECT_EQ(out[1].type(), kCountAndCosts[1]);
  evaluate(context);
  EXPECT_EQ(out[0].item(), 2);
  EXPECT_THAT(values_of(out[1].to_host()), ElementsAre(1, -2, 3));
}

TEST(HostCall, KeepsFurtherResultsInPlaceWhereOnlyOneIsRead) {
  TraceContext context;
  const Tensor x = input_of(context, {1, -2, 3}, Shape{3});
  Tensor doubled;
  {
    const Tensor unread = x + 5.0;
    doubled = host_call(count_positive(), {x}, kCountAndCosts)[1] * 2.0;
  }
  evaluate(context);
  EXPECT_THAT(values_of(doubled.to_host()), ElementsAre(2, -4, 6));
}

TEST(HostCall, RegistersItsFunction) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  const auto line = [&](float number) {
    const HostFunction f("f", 1, [number](std::span<const HostTensor>, std::span<HostTensor> out) {
      out[0].as<float>()[0] = number;
    });
    return std::pair(host_call(f, {x}, Type{DType::kF32, Shape{}}), __LINE__);
  };
  const auto [first, at] = line(1);
  EXPECT_EQ(error_of([&] { (void)line(2); }),
            fmt::format("2: host_call_test.cpp:{}: there is another host function f version 1 "
                        "already: raise the version if the code changed; make a function "
                        "that captures variables once, and keep it",
                        at));
}

TEST(HostCall, NeedsOperandsAndResults) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  const int line = __LINE__ + 1;
  EXPECT_EQ(error_of([&] { (void)host_call(reverse_function(), {x}, std::vector<Type>{}); }),
            fmt::format("2: host_call_test.cpp:{}: the call of reverse version 1 states no result",
                        line));
  EXPECT_EQ(error_of([&] { (void)host_call(reverse_function(), {}, x.type()); }),
            fmt::format("2: host_call_test.cpp:{}: a call of reverse version 1 without operands: "
                        "record a constant",
                        line + 3));
}

TEST(HostCall, HasNoGradientAndSaysSo) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  const ModuleScope scope(context, "head");
  const int line = __LINE__ + 1;
  const Tensor turned = host_call(reverse_function(), {x * 3.0}, x.type());
  EXPECT_EQ(error_of([&] { (void)gradient_of_sum(turned * x, x); }),
            fmt::format("2: host_call_test.cpp:{} (head): host_call has no gradient, but one of "
                        "reverse version 1 is requested: put stop_gradient() around its operands "
                        "or its result",
                        line));
}

TEST(HostCall, HasNoGradientOfAFurtherResultEither) {
  TraceContext context;
  const Tensor x = input_of(context, {1, -2, 3}, Shape{3});
  const int line = __LINE__ + 1;
  const std::vector<Tensor> out = host_call(count_positive(), {x}, kCountAndCosts);
  EXPECT_EQ(error_of([&] { (void)gradient_of_sum(out[1], x); }),
            fmt::format("2: host_call_test.cpp:{}: host_call has no gradient, but one of "
                        "count_positive version 1 is requested: put stop_gradient() around its "
                        "operands or its result",
                        line));
}

TEST(HostCall, LetsGradientsPassBesideIt) {
  TraceContext context;
  const Tensor x = input_of(context, {1, -2, 3}, Shape{3});
  // Integers carry none; stop_gradient() before or behind it ends the others.
  const std::vector<Tensor> out = host_call(count_positive(), {x}, kCountAndCosts);
  const Tensor before = host_call(reverse_function(), {stop_gradient(x)}, x.type());
  const Tensor behind = stop_gradient(host_call(reverse_function(), {x * 2.0}, x.type()));
  const Tensor loss =
      x * broadcast_to(convert(out[0], DType::kF32), x.shape()) + x * before + x * behind;
  const Tensor found = gradient_of_sum(loss, x);
  evaluate(context);
  EXPECT_THAT(values_of(found.to_host()), ElementsAre(2 + 3 + 6, 2 - 2 - 4, 2 + 1 + 2));
}

TEST(HostCall, InABodyIsReplayedForItsGradient) {
  TraceContext context;
  context.host_functions().add(count_positive());
  auto body = std::make_shared<Graph>(
      parse("%x = f32[3] input()\n"
            "%n = i32[] host_call(%x) {function=\"count_positive\", version=1, "
            "results=[i32[],f32[3]]}\n"
            "%c = f32[3] group_result(%n) {index=1}\n"
            "%f = f32[] convert(%n) {to=f32}\n"
            "%b = f32[3] broadcast(%f) {shape=[3], dims=[]}\n"
            "%y = f32[3] multiply(%x, %b)\n"
            "return %y\n",
            "t.ir"));
  const Tensor x = input_of(context, {1, -2, 3}, Shape{3});
  const Tensor found = gradient_of_sum(call(body, std::vector<Tensor>{x}), x);
  evaluate(context);
  EXPECT_THAT(values_of(found.to_host()), ElementsAre(2, 2, 2));
}

}  // namespace
}  // namespace lockstep
