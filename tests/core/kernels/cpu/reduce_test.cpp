#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/kernels/kernel_case.h"

namespace lockstep::cpu_test {
namespace {

constexpr Op kReductions[] = {Op::kReduceSum, Op::kReduceProduct, Op::kReduceMax, Op::kReduceMin};

Case reduce(Op op, const HostTensor& x, Attrs::Ints dims) {
  return make_case(op, {x}, {{Attr::kDims, std::move(dims)}});
}

TEST(CpuReduce, RowsColumnsAndEverythingInBetweenMatchTheReference) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kU8}) {
    const auto x = random_tensor(dtype, {3, 70, 2, 131}, 1, 0.9, 1.1);
    for (const Op op : kReductions)
      for (const Attrs::Ints& dims :
           {Attrs::Ints{3}, Attrs::Ints{0}, Attrs::Ints{1, 3}, Attrs::Ints{0, 2, 3},
            Attrs::Ints{0, 1, 2, 3}, Attrs::Ints{1}, Attrs::Ints{}})
        expect_correct(reduce(op, x, dims), 1e-3, 1e-6);
  }
}

TEST(CpuReduce, HalfPrecisionSumsRoundOnce) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const auto x = random_tensor(dtype, {90, 200}, 1, 0, 1);
    for (const Attrs::Ints& dims : {Attrs::Ints{0}, Attrs::Ints{1}, Attrs::Ints{0, 1}})
      expect_correct(reduce(Op::kReduceSum, x, dims), dtype == DType::kBF16 ? 0x1p-8 : 0x1p-10);
  }
}

TEST(CpuReduce, LongSumsStayAccurate) {
  // Adding in sequence would be off by about 1e-4 here.
  const auto x = random_tensor(DType::kF32, {200'003}, 1, 0, 1);
  expect_correct(reduce(Op::kReduceSum, x, {0}), 1e-6);
  const auto y = random_tensor(DType::kF32, {20'011, 5}, 1, 0, 1);
  expect_correct(reduce(Op::kReduceSum, y, {0}), 1e-6);
  expect_correct(reduce(Op::kReduceSum, y, {0, 1}), 1e-6);
}

TEST(CpuReduce, OfNothingIsTheIdentity) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32})
    for (const Op op : kReductions) {
      expect_correct(reduce(op, HostTensor(dtype, {0, 3}), {0}));
      expect_correct(reduce(op, HostTensor(dtype, {2, 0}), {0, 1}));
      expect_correct(reduce(op, HostTensor(dtype, {0, 3}), {1}));
    }
}

TEST(CpuReduce, NaNReachesMaximumAndMinimum) {
  for (const std::int64_t at : {0, 40, 99}) {
    auto x = random_tensor(DType::kF32, {100, 100}, 1);
    x.as<float>()[static_cast<std::size_t>(at * 100 + at)] = NAN;
    for (const Op op : {Op::kReduceMax, Op::kReduceMin, Op::kArgMax, Op::kArgMin})
      for (const std::int64_t dim : {0, 1}) {
        const bool arg = op == Op::kArgMax || op == Op::kArgMin;
        expect_correct(make_case(op, {x}, {{arg ? Attr::kAxis : Attr::kDims, {dim}}}));
      }
  }
}

TEST(CpuReduce, ArgReductionsFindTheFirstOfEquals) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32, DType::kI64}) {
    const auto x = random_tensor(dtype, {6, 50, 4}, 1, -3, 3);
    for (const Op op : {Op::kArgMax, Op::kArgMin})
      for (const std::int64_t axis : {0, 1, 2})
        expect_correct(make_case(op, {x}, {{Attr::kAxis, {axis}}}));
  }
}

RC_GTEST_PROP(CpuReduce, AnyShapeAndDimsMatch, ()) {
  const auto rank = *rc::gen::inRange(1, 6);
  Shape shape;
  Attrs::Ints dims;
  for (int d = 0; d < rank; ++d) {
    shape.push_back(*rc::gen::inRange<std::int64_t>(0, 12));
    if (*rc::gen::arbitrary<bool>()) dims.push_back(d);
  }
  const Op op = *rc::gen::elementOf(std::vector<Op>{Op::kReduceSum, Op::kReduceMax});
  expect_correct(reduce(op, random_tensor(DType::kF32, shape, 1), dims), 1e-5, 1e-4);
}

}  // namespace
}  // namespace lockstep::cpu_test
