#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ir/image_layout.h"
#include "tests/core/kernels/kernel_case.h"

namespace lockstep::cpu_test {
namespace {

struct Pool {
  Shape x;  ///< planar
  Attrs::Ints window, stride;
  Attrs::Ints padding{0, 0, 0, 0};
};

Attrs attrs_of(const Pool& pool, bool channels_last) {
  Attrs out{
      {Attr::kWindow, pool.window}, {Attr::kStride, pool.stride}, {Attr::kPadding, pool.padding}};
  if (channels_last) out.set_int(Attr::kChannelsLast, 1);
  return out;
}

/// Pools of x, stored as it shall be, and their gradients agree with the reference.
void expect_pools(const HostTensor& x, const Attrs& attrs) {
  const bool is_half = x.dtype() == DType::kBF16 || x.dtype() == DType::kF16;
  const double relative = is_half ? 0x1p-7 : 1e-6;
  const Case max = make_case(Op::kMaxPool, {x}, attrs);
  expect_correct(max, relative);
  expect_correct(make_case(Op::kAvgPool, {x}, attrs), relative, 1e-6);
  const auto dy = random_tensor(x.dtype(), max.node.type.shape, 2);
  expect_correct(make_case(Op::kMaxPoolGrad, {x, dy}, attrs), relative, 1e-6);
  Attrs of_x = attrs;
  of_x.set(Attr::kShape, x.shape().sizes());
  expect_correct(make_case(Op::kAvgPoolGrad, {dy}, of_x), relative, 1e-6);
}

void expect_pools(const Pool& pool,
                  std::initializer_list<DType> dtypes = {DType::kF32, DType::kBF16}) {
  for (const DType dtype : dtypes)
    for (const bool last : {false, true}) {
      const Attrs attrs = attrs_of(pool, last);
      expect_pools(random_tensor(dtype, stored_shape(attrs, pool.x), 1), attrs);
    }
}

/// Few different numbers, so that most windows have several maxima; some are NaN, infinite or zeros
/// of either sign.
HostTensor coarse_tensor(DType dtype, const Shape& shape, std::uint64_t seed) {
  constexpr std::array kValues{-1.0, 1.0, 2.0, -0.0, 0.0, -2.0, -HUGE_VAL, double{NAN}};
  RandomWords random(seed);
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& v : values) {
    const bool special = random.word() % 8 == 0;
    v = kValues[random.word() % (special ? kValues.size() : kValues.size() - 2)];
  }
  return from_doubles(dtype, shape, values);
}

TEST(CpuPool, PoolsAndTheirGradientsMatch) {
  const auto dtypes = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64};
  expect_pools({{3, 4, 8, 8}, {2, 2}, {2, 2}}, dtypes);
  expect_pools({{2, 5, 9, 7}, {3, 2}, {2, 1}, {1, 2, 1, 0}}, dtypes);
  expect_pools({{1, 1, 1, 1}, {1, 1}, {1, 1}}, dtypes);
}

TEST(CpuPool, EmptyImagesHaveAKernel) {
  expect_pools({{0, 3, 4, 4}, {2, 2}, {2, 2}});
  expect_pools({{2, 0, 4, 4}, {2, 2}, {2, 2}});
  expect_pools({{2, 20, 0, 3}, {2, 2}, {1, 1}, {1, 1, 0, 0}});
}

TEST(CpuPool, AnyNumberOfChannelsMatches) {
  for (const std::int64_t channels : {1, 2, 3, 4, 6, 8, 9, 15, 16, 17, 31, 32, 64, 67, 160})
    expect_pools({{2, channels, 6, 5}, {3, 3}, {2, 2}, {1, 1, 1, 1}});
}

TEST(CpuPool, WindowsThatOverlapTouchOrLeaveGapsMatch) {
  for (const std::int64_t stride : {1, 2, 3, 4, 5})
    expect_pools({{2, 20, 13, 11}, {3, 2}, {stride, stride}, {1, 2, 0, 1}});
  expect_pools({{2, 20, 9, 9}, {9, 9}, {9, 9}});
  expect_pools({{2, 20, 7, 6}, {5, 4}, {1, 2}, {4, 4, 3, 3}});
}

// Gradients of channels last are computed a band of rows at a time.
TEST(CpuPool, TallImagesMatchWhereBandsMeet) {
  expect_pools({{1, 20, 40, 3}, {3, 2}, {1, 1}, {1, 1, 0, 1}});
  expect_pools({{2, 3, 75, 2}, {5, 1}, {2, 1}, {2, 2, 0, 0}});
  expect_pools({{1, 17, 67, 2}, {2, 2}, {3, 2}});
  expect_pools({{1, 4, 20, 2}, {18, 1}, {1, 1}});
}

TEST(CpuPool, ManyImagesShareTheWorkingMemoryOfFewTasks) {
  expect_pools({{40, 64, 18, 18}, {3, 3}, {2, 2}, {1, 1, 1, 1}}, {DType::kBF16});
}

TEST(CpuPool, ANaNIsTheMaximumOfItsWindowAndTakesItsGradient) {
  const auto x = HostTensor::of<float>({1, 1, 2, 4}, std::vector<float>{1, NAN, 5, 5, 3, 2, 5, 4});
  const Attrs attrs{
      {Attr::kWindow, {2, 2}}, {Attr::kStride, {2, 2}}, {Attr::kPadding, {0, 0, 0, 0}}};
  expect_correct(make_case(Op::kMaxPool, {x}, attrs));
  expect_correct(
      make_case(Op::kMaxPoolGrad, {x, random_tensor(DType::kF32, {1, 1, 1, 2}, 1)}, attrs));
}

TEST(CpuPool, TheFirstOfEqualMaximaWinsWhateverTheChannels) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const bool last : {false, true})
      for (const std::int64_t channels : {1, 5, 8, 16, 19, 64}) {
        const Pool pool{{2, channels, 9, 8}, {3, 3}, {2, 1}, {1, 1, 2, 0}};
        const Attrs attrs = attrs_of(pool, last);
        const HostTensor x = coarse_tensor(dtype, stored_shape(attrs, pool.x), 1);
        expect_correct(make_case(Op::kMaxPool, {x}, attrs));
        const Shape y = make_case(Op::kMaxPool, {x}, attrs).node.type.shape;
        expect_correct(make_case(Op::kMaxPoolGrad, {x, random_tensor(dtype, y, 2)}, attrs), 0x1p-7);
      }
}

TEST(CpuPool, BothInstructionSetsGiveTheSameBits) {
  if (tested_target().isa == Isa::kAvx2) GTEST_SKIP() << "there is one";
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const std::int64_t channels : {3, 13, 80}) {
      const Pool pool{{2, channels, 37, 5}, {3, 3}, {1, 2}, {1, 1, 1, 1}};
      const Attrs attrs = attrs_of(pool, true);
      const HostTensor x = random_tensor(dtype, stored_shape(attrs, pool.x), 1);
      const Case max = make_case(Op::kMaxPool, {x}, attrs);
      const HostTensor dy = random_tensor(dtype, max.node.type.shape, 2);
      Attrs of_x = attrs;
      of_x.set(Attr::kShape, x.shape().sizes());
      for (const Case& c :
           {max, make_case(Op::kAvgPool, {x}, attrs), make_case(Op::kMaxPoolGrad, {x, dy}, attrs),
            make_case(Op::kAvgPoolGrad, {dy}, of_x)})
        EXPECT_TRUE(
            same_bits(run_results(c, {.isa = Isa::kAvx2}), run_results(c, {.isa = Isa::kAvx512})))
            << name_of(c.node.op) << " of " << channels << " channels";
    }
}

RC_GTEST_PROP(CpuPool, AnyGeometryMatches, ()) {
  const auto pick = [](std::int64_t low, std::int64_t high) {
    return *rc::gen::inRange<std::int64_t>(low, high + 1);
  };
  const Attrs::Ints window{pick(1, 5), pick(1, 4)};
  const Pool pool{.x = {pick(1, 2), pick(1, 40), pick(1, 50), pick(1, 6)},
                  .window = window,
                  .stride = {pick(1, 4), pick(1, 3)},
                  .padding = {pick(0, window[0] - 1), pick(0, window[0] - 1),
                              pick(0, window[1] - 1), pick(0, window[1] - 1)}};
  RC_PRE(pool.x[2] + pool.padding[0] + pool.padding[1] >= window[0]);
  RC_PRE(pool.x[3] + pool.padding[2] + pool.padding[3] >= window[1]);
  const Attrs attrs = attrs_of(pool, true);
  expect_pools(
      coarse_tensor(*rc::gen::element(DType::kF32, DType::kBF16), stored_shape(attrs, pool.x), 1),
      attrs);
}

}  // namespace
}  // namespace lockstep::cpu_test
