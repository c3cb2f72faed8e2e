#include "tests/core/ops/cases/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tests/fixtures/special_values.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxSmallElements = 2000;
constexpr std::int64_t kMaxGradientElements = 36;
// Kernels give one task about 32 Ki elements at most.
constexpr std::int64_t kMinLargeElements = 70'000;
constexpr std::int64_t kMaxLargeElements = 100'000;

}  // namespace

Draw::Draw(CaseKind kind)
    : kind_(kind),
      random_(*rc::gen::noShrink(
          rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()))) {}

std::vector<std::int64_t> Draw::permutation(std::int64_t n) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  for (std::int64_t i = 1; i < n; ++i)
    std::swap(out[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(integer(0, i))]);
  return out;
}

DType Draw::dtype(const std::vector<DType>& dtypes) {
  const DType drawn = integer(0, 3) == 0 ? dtypes[0] : pick(dtypes);
  if (!for_gradient()) return drawn;
  return is_float(dtypes[0]) ? DType::kF64 : drawn;
}

std::int64_t Draw::size(std::int64_t min, std::int64_t max) {
  const std::int64_t usual = std::min<std::int64_t>(max, for_gradient() ? 4 : 9);
  const std::int64_t roll = integer(0, 99);
  if (roll < 8 || max <= min) return min;
  if (roll < 20) return 1;
  const std::int64_t limit = roll < 85 || for_gradient() ? usual : max;
  // The whole range from the start: rapidcheck would begin with the smallest only.
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(1, limit + 1));
}

Shape Draw::shape(int min_rank, int max_rank) {
  Shape out;
  const auto rank =
      static_cast<int>(integer(is_large() ? std::max(min_rank, 1) : min_rank, max_rank));
  if (is_large()) {
    std::int64_t others = 1;
    const auto longest = static_cast<int>(integer(0, rank - 1));
    for (int d = 0; d < rank; ++d) {
      out.push_back(d == longest ? 1 : integer(1, 7));
      others *= out[d];
    }
    out.set_dim(longest, integer(kMinLargeElements, kMaxLargeElements) / others + 1);
    return out;
  }
  std::int64_t budget = for_gradient() ? kMaxGradientElements : kMaxSmallElements;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t next = size(0, std::min<std::int64_t>(budget, 300));
    out.push_back(next);
    budget /= std::max<std::int64_t>(next, 1);
  }
  return out;
}

double Draw::real(Fill fill) {
  if (fill == Fill::kUnit) return uniform(-2, 2);
  if (fill == Fill::kNearOne) return uniform(0.5, 1.5) * (flip() ? 1 : -1);
  static const std::vector<double> kSpecial = {
      0,     -0.0, 1,      -1,         kInf, -kInf,   kNaN,    0x1p-126, 1e10, -1e-10, 65504, 3e38,
      -3e38, 88,   -103.5, 1 + 0x1p-7, 1e-3, 0x1p+24, 1.0 / 3, 30,       -30,  709,    0.5,   -0.5};
  switch (integer(0, 7)) {
    case 0: return pick(kSpecial);
    case 1: return static_cast<double>(integer(-9, 9)) / 2;
    case 2:
    case 3: return uniform(-100, 100);
    default: return uniform(-4, 4);
  }
}

std::int64_t Draw::any_integer(DType dtype) {
  if (dtype == DType::kBool) return integer(0, 1);
  return visit_dtype(dtype, [&](auto zero) -> std::int64_t {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      switch (integer(0, 7)) {
        case 0: return pick<std::int64_t>({Limits::min(), Limits::max(), 0, 1, T(-1)});
        case 1: return integer(Limits::min(), Limits::max());
        default: return integer(std::is_signed_v<T> ? -9 : 0, 9);
      }
    }
    return 0;
  });
}

HostTensor Draw::tensor(DType dtype, const Shape& shape, Fill fill) {
  HostTensor out(dtype, shape);
  const std::int64_t count = shape.elements();
  if (!is_float(dtype)) {
    visit_dtype(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>)
        for (T& element : out.as<T>()) element = static_cast<T>(any_integer(dtype));
    });
    return out;
  }
  if (fill == Fill::kWide && for_gradient()) fill = Fill::kDistinct;
  std::vector<double> elements(static_cast<std::size_t>(count));
  if (fill == Fill::kDistinct) {
    std::ranges::transform(permutation(count), elements.begin(), [&](std::int64_t place) {
      return 0.25 * static_cast<double>(place - count / 2) + 0.1;
    });
  } else {
    for (double& element : elements) element = real(fill);
  }
  return from_doubles(dtype, shape, elements);
}

HostTensor Draw::integers(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high) {
  std::vector<double> elements(static_cast<std::size_t>(shape.elements()));
  for (double& element : elements) element = static_cast<double>(integer(low, high));
  return from_doubles(dtype, shape, elements);
}

}  // namespace lockstep
