// The result of recording a call: a node with its type, or an error at the user's line.
#include <gtest/gtest.h>

#include <functional>

#include "core/trace/context.h"
#include "tests/core/trace/inputs.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Recording, InfersTheTypeAtTheCall) {
  TraceContext context;
  const Tensor x = input(context, Shape{8, 64});
  EXPECT_EQ((x + 1.0).type().to_string(), "f32[8,64]");
  EXPECT_EQ(sum(x).type().to_string(), "f32[]");
  EXPECT_EQ(reduce_sum(x, {-1}, true).type().to_string(), "f32[8,1]");
  EXPECT_EQ(less(x, 0.0).type().to_string(), "bool[8,64]");
  EXPECT_EQ(arg_max(x, 1).type().to_string(), "i32[8]");
  EXPECT_EQ(convert(x, DType::kBF16).type().to_string(), "bf16[8,64]");
  EXPECT_EQ(matmul(x, transpose(x, {1, 0})).type().to_string(), "f32[8,8]");
  EXPECT_EQ(reshape(x, Ints{-1, 32}).type().to_string(), "f32[16,32]");
  EXPECT_EQ(slice_dim(x, -1, 1, -1).type().to_string(), "f32[8,62]");
}

TEST(Recording, BroadcastsLikeNumPy) {
  TraceContext context;
  const Tensor rows = input(context, Shape{4, 1});
  const Tensor columns = input(context, Shape{3});
  EXPECT_EQ((rows * columns).type().to_string(), "f32[4,3]");
  EXPECT_EQ(select(less(columns, 0.0), rows, 1.0).type().to_string(), "f32[4,3]");
}

TEST(Recording, GivesANumberTheOtherOperandsDtype) {
  TraceContext context;
  const Tensor x = input(context, DType::kI64, Shape{2});
  EXPECT_EQ((x * 2.0).dtype(), DType::kI64);
  EXPECT_EQ((2.0 * x).dtype(), DType::kI64);
}

TEST(Recording, SkipsWhatChangesNothing) {
  TraceContext context;
  const Tensor x = input(context, Shape{2, 3});
  EXPECT_EQ(convert(x, DType::kF32).handle(), x.handle());
  EXPECT_EQ(reshape(x, Shape{2, 3}).handle(), x.handle());
  EXPECT_EQ(broadcast_to(x, Shape{2, 3}).handle(), x.handle());
}

TEST(WrongOperands, OfTwoShapesAreBothPrintedWithTheLine) {
  TraceContext context;
  const Tensor a = input(context, Shape{8, 64});
  const Tensor b = input(context, Shape{8, 32});
  const int line = __LINE__ + 1;
  const auto wrong = [&] { (void)(a + b); };
  EXPECT_EQ(error_of(wrong),
            fmt::format("2: recording_test.cpp:{}: add(f32[8,64], f32[8,32]): shapes [8,64] and "
                        "[8,32] cannot be broadcast together: dimension 1 is 64 and 32",
                        line));
}

TEST(WrongOperands, OfTwoDtypesAreBothPrintedWithTheLine) {
  TraceContext context;
  const Tensor a = input(context, Shape{4});
  const Tensor b = input(context, DType::kBF16, Shape{4});
  const int line = __LINE__ + 1;
  const auto wrong = [&] { (void)(a * b); };
  EXPECT_THAT(error_of(wrong),
              AllOf(StartsWith(fmt::format("2: recording_test.cpp:{}: multiply", line)),
                    HasSubstr("f32[4]"), HasSubstr("bf16[4]")));
}

TEST(WrongOperands, NameTheModuleAsWell) {
  TraceContext context;
  const ModuleScope scope(context, "h.3.attn");
  const Tensor a = input(context, Shape{8, 64});
  const int line = __LINE__ + 1;
  const auto wrong = [&] { (void)matmul(a, a); };
  EXPECT_THAT(error_of(wrong),
              StartsWith(fmt::format("2: recording_test.cpp:{} (h.3.attn): dot", line)));
}

TEST(WrongOperands, OfEveryCheckNameTheLine) {
  TraceContext context;
  const Tensor x = input(context, Shape{2, 3});
  const Tensor v = input(context, Shape{3});
  Tensor variable = x;
  const auto check = [&](int line, const std::function<void()>& wrong, const char* message) {
    EXPECT_EQ(error_of(wrong), fmt::format("2: recording_test.cpp:{}: {}", line, message));
  };
  const auto transposed = [&] { (void)transpose(x, {0, 2}); };
  check(__LINE__ - 1, transposed, "dimension 2 is out of range for f32[2,3]");
  const auto largest = [&] { (void)arg_max(x, -3); };
  check(__LINE__ - 1, largest, "dimension -3 is out of range for f32[2,3]");
  const auto reshaped = [&] { (void)reshape(x, Ints{-1, 4}); };
  check(__LINE__ - 1, reshaped, "reshape of f32[2,3]: 6 elements do not divide by 4");
  const auto open = [&] { (void)reshape(x, Ints{-1, -1}); };
  check(__LINE__ - 1, open, "reshape of f32[2,3]: only one size can be -1");
  const auto lowered = [&] { (void)broadcast_to(x, Shape{3}); };
  check(__LINE__ - 1, lowered, "f32[2,3] cannot be broadcast to the lower rank of [3]");
  const auto huge = [&] { (void)pad(x, 0, {0, 0}, {0, 1LL << 60}); };
  check(__LINE__ - 1, huge,
        "a tensor of shape [2,1152921504606846979] would have more than 576460752303423488 (2^59) "
        "elements, not counting sizes of 0");
  const auto product = [&] { (void)matmul(x, v); };
  check(__LINE__ - 1, product, "matmul of f32[2,3] and f32[3]: both need one rank of at least 2");
  const auto nothing = [&] { (void)concatenate({}, 0); };
  check(__LINE__ - 1, nothing, "concatenate needs at least one tensor");
  const auto loss = [&] { (void)cross_entropy(x, v); };
  check(__LINE__ - 1, loss,
        "logits f32[2,3] and targets f32[3] do not fit: [N,V] and integer [N] are needed");
  const auto numbers = [&] { (void)binary(Op::kAdd, 1.0, 2.0); };
  check(__LINE__ - 1, numbers, "add of two plain numbers: one operand must be a tensor");
  const auto chosen = [&] { (void)select(x, 1.0, 2.0); };
  check(__LINE__ - 1, chosen, "select needs a tensor to take the dtype from");
  const auto assigned = [&] { variable.assign(v); };
  check(__LINE__ - 1, assigned, "cannot assign f32[3] to a tensor of f32[2,3]");
}

TEST(WrongOperands, LeaveTheTraceAsItWas) {
  TraceContext context;
  const Tensor x = input(context, Shape{2, 3});
  const Tensor y = x + 1.0;
  const std::string before = print(context.pending());
  EXPECT_NE(error_of([&] { (void)transpose(x, {0}); }), "no error");
  EXPECT_EQ(print(context.pending()), before);
}

TEST(Tensors, OfTwoContextsDoNotMix) {
  TraceContext one;
  TraceContext other;
  const Tensor a = input(one, Shape{2});
  const Tensor b = input(other, Shape{2});
  EXPECT_EQ(error_of([&] { (void)(a + b); }), "2: tensors of two trace contexts were mixed");
}

TEST(Tensors, MayOutliveTheirContextButNotBeUsed) {
  Tensor x;
  {
    TraceContext context;
    x = input(context, Shape{2}) * 2.0;
  }
  EXPECT_EQ(error_of([&] { (void)(x + 1.0); }), "2: a tensor was used after its session had ended");
}

TEST(Item, NeedsOneElement) {
  TraceContext context;
  EXPECT_EQ(error_of([&] { (void)input(context, Shape{2}).item(); }),
            "2: item() needs one element, but the tensor is f32[2]");
  EXPECT_EQ(input_of(context, {3}, Shape{1, 1}).item(), 3);
}

TEST(Constant, IsOneWhereItIsTheSameInItsDType) {
  TraceContext context;
  const Tensor a = context.constant(1.0, DType::kF32);
  const Tensor b = context.constant(1.0 + 1e-12, DType::kF32);
  const Tensor c = context.constant(1.0 + 1e-12, DType::kF64);
  EXPECT_EQ(context.pending().size(), 2);
}

}  // namespace
}  // namespace lockstep
