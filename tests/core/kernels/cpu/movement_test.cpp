#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/kernels/plan_kernel.h"
#include "tests/core/kernels/kernel_case.h"
#include "tests/core/kernels/reference/evaluate.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::cpu_test {
namespace {

constexpr DType kSizes[] = {DType::kBool, DType::kBF16, DType::kF32, DType::kI64};

HostTensor indices(DType dtype, const Shape& shape, double high) {
  return random_tensor(dtype, shape, 5, -2, high + 2);  // some are out of range and get clamped
}

TEST(CpuMovement, TransposesMatchTheReference) {
  for (const DType dtype : kSizes) {
    const auto transpose = [&](const Shape& shape, Attrs::Ints dims) {
      expect_correct(make_case(Op::kTranspose, {random_tensor(dtype, shape, 1)},
                               {{Attr::kDims, std::move(dims)}}));
    };
    transpose({70, 45}, {1, 0});
    transpose({2, 33, 4, 8}, {0, 2, 1, 3});
    transpose({2, 33, 4, 40}, {0, 2, 3, 1});
    transpose({3, 5, 7}, {2, 1, 0});
    transpose({3, 1, 7}, {2, 1, 0});
    transpose({0, 5}, {1, 0});
    transpose({}, {});
  }
}

RC_GTEST_PROP(CpuMovement, AnyPermutationMatches, ()) {
  const auto rank = *rc::gen::inRange(1, 7);
  Shape shape;
  Attrs::Ints dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  for (int d = 0; d < rank; ++d) {
    shape.push_back(*rc::gen::inRange<std::int64_t>(1, 7));
    std::swap(dims[static_cast<std::size_t>(d)],
              dims[static_cast<std::size_t>(*rc::gen::inRange(0, d + 1))]);
  }
  expect_correct(
      make_case(Op::kTranspose, {random_tensor(DType::kF32, shape, 1)}, {{Attr::kDims, dims}}));
}

TEST(CpuMovement, SlicesMatchTheReference) {
  for (const DType dtype : kSizes) {
    const auto x = random_tensor(dtype, {9, 40, 6}, 1);
    expect_correct(make_case(
        Op::kSlice, {x},
        {{Attr::kStart, {1, 0, 2}}, {Attr::kLimit, {8, 40, 6}}, {Attr::kStride, {3, 1, 2}}}));
    expect_correct(make_case(
        Op::kSlice, {x},
        {{Attr::kStart, {1, 7, 0}}, {Attr::kLimit, {1, 9, 6}}, {Attr::kStride, {1, 1, 1}}}));
    for (const std::int64_t start : {-3, 2, 100})
      expect_correct(make_case(Op::kDynamicSlice,
                               {x, i64_scalar(start), i64_scalar(start), i64_scalar(1)},
                               {{Attr::kShape, {3, 17, 5}}}));
  }
}

TEST(CpuMovement, DynamicUpdateSliceWritesItsWindow) {
  for (const DType dtype : kSizes)
    for (const std::int64_t start : {-3, 2, 100})
      expect_correct(make_case(Op::kDynamicUpdateSlice,
                               {random_tensor(dtype, {9, 40}, 1), random_tensor(dtype, {4, 11}, 2),
                                i64_scalar(start), i64_scalar(start)}));
}

TEST(CpuMovement, PadAndConcatenateMatchTheReference) {
  for (const DType dtype : kSizes) {
    const auto x = random_tensor(dtype, {5, 3, 8}, 1);
    expect_correct(make_case(Op::kPad, {x, random_tensor(dtype, {}, 9)},
                             {{Attr::kLow, {1, 0, 2}}, {Attr::kHigh, {0, 4, 3}}}));
    expect_correct(make_case(Op::kPad, {HostTensor(dtype, {0, 2}), random_tensor(dtype, {}, 9)},
                             {{Attr::kLow, {1, 0}}, {Attr::kHigh, {1, 1}}}));
    for (const std::int64_t axis : {0, 1, 2}) {
      Shape wide = x.shape();
      wide.set_dim(static_cast<int>(axis), 11);
      Shape none = x.shape();
      none.set_dim(static_cast<int>(axis), 0);
      expect_correct(make_case(Op::kConcatenate,
                               {x, HostTensor(dtype, none), random_tensor(dtype, wide, 2)},
                               {{Attr::kAxis, {axis}}}));
    }
  }
}

TEST(CpuMovement, GatherTakesRowsAndClampsIndices) {
  for (const DType dtype : kSizes)
    for (const DType index : {DType::kI32, DType::kI64})
      for (const std::int64_t axis : {0, 1, 2}) {
        const auto x = random_tensor(dtype, {6, 9, 10}, 1);
        expect_correct(
            make_case(Op::kGather, {x, indices(index, {3, 7}, 9)}, {{Attr::kAxis, {axis}}}));
        expect_correct(make_case(Op::kGather, {x, indices(index, {}, 9)}, {{Attr::kAxis, {axis}}}));
        expect_correct(
            make_case(Op::kGather, {x, indices(index, {0}, 9)}, {{Attr::kAxis, {axis}}}));
      }
}

TEST(CpuMovement, ScatterAddSumsDuplicatesInOrder) {
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kI64, DType::kU8, DType::kF64})
    for (const std::int64_t axis : {0, 1, 2}) {
      const auto x = random_tensor(dtype, {6, 9, 100}, 1, 0, 3);
      Shape updates = x.shape();
      updates.set_dim(static_cast<int>(axis), 300);
      expect_correct(
          make_case(Op::kScatterAdd,
                    {x, indices(DType::kI32, {300}, 9), random_tensor(dtype, updates, 2, 0, 3)},
                    {{Attr::kAxis, {axis}}}),
          1e-5);
    }
  expect_correct(make_case(Op::kScatterAdd,
                           {random_tensor(DType::kF32, {7, 5}, 1), indices(DType::kI64, {0}, 7),
                            HostTensor(DType::kF32, {0, 5})},
                           {{Attr::kAxis, {0}}}));
}

TEST(CpuMovement, ScatterAddOfHalvesRoundsOnce) {
  // 300 summands of which a bf16 running sum would lose most.
  const Case c = make_case(Op::kScatterAdd,
                           {HostTensor(DType::kBF16, {1, 300}),
                            from_doubles(DType::kI32, {300}, std::vector<double>(300, 0.0)),
                            random_tensor(DType::kBF16, {300, 300}, 2, 0.5, 1)},
                           {{Attr::kAxis, {0}}});
  std::memset(c.operands[0].bytes().data(), 0, c.operands[0].bytes().size());
  expect_correct(c, 0x1p-8);
}

TEST(CpuMovement, UpdatesMayRunInPlace) {
  const Case update = make_case(
      Op::kDynamicUpdateSlice,
      {random_tensor(DType::kF32, {64}, 1), random_tensor(DType::kF32, {5}, 2), i64_scalar(9)});
  const Case scatter =
      make_case(Op::kScatterAdd,
                {random_tensor(DType::kF32, {64, 33}, 1), indices(DType::kI32, {80}, 64),
                 random_tensor(DType::kF32, {80, 33}, 2)},
                {{Attr::kAxis, {0}}});
  ThreadPool pool(2);
  for (const Case& c : {update, scatter}) {
    const HostTensor want = run_case(c);
    const auto kernel = make_kernel(c.node, c.types(), tested_target());
    ASSERT_TRUE(kernel->may_alias(0, 0));
    EXPECT_FALSE(kernel->may_alias(0, 1));
    std::vector<const std::byte*> operands;
    for (const HostTensor& t : c.operands) operands.push_back(t.bytes().data());
    std::byte* results[] = {c.operands[0].bytes().data()};
    kernel->run({operands, results, nullptr, pool});
    EXPECT_TRUE(same_bits(c.operands[0], want));
  }
}

}  // namespace
}  // namespace lockstep::cpu_test
