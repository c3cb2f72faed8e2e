// The stated error bounds of core/kernels/codegen/vector_math.h, over a dense sample of all floats.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "tests/core/kernels/kernel_case.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::cpu_test {
namespace {

constexpr float kInf = INFINITY;
constexpr std::uint64_t kStep = 4093;  // a prime: all exponents, varied mantissas

HostTensor sample() {
  std::vector<float> out;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += kStep)
    out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return HostTensor::of({static_cast<std::int64_t>(out.size())}, out);
}

/// The largest error in units in the last place over x in [low, high]. Operands and results that
/// are denormal may be flushed; NaN and infinity must agree.
template <class Exact>
double worst_ulp(const HostTensor& sampled, const HostTensor& result, Exact exact,
                 float low = -kInf, float high = kInf) {
  const std::span<const float> xs = sampled.as<const float>();
  const std::span<const float> results = result.as<const float>();
  double worst = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const float x = xs[i];
    if (!std::isnan(x) && (x < low || x > high)) continue;
    if (std::abs(x) < 0x1p-126F) continue;  // counts as zero
    const float got = results[i];
    const double want = exact(static_cast<double>(x));
    const auto rounded = static_cast<float>(want);
    if (std::isnan(want) || std::isinf(rounded)) {
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == rounded) << "at " << x;
      continue;
    }
    if (std::abs(want) < 0x1p-126) {
      EXPECT_LE(std::abs(got), 0x1p-126F) << "at " << x;
      continue;
    }
    const double ulp = std::ldexp(1.0, std::ilogb(want) - 23);
    worst = std::max(worst, std::abs(static_cast<double>(got) - want) / ulp);
  }
  return worst;
}

/// The errors are those of a thread that flushes denormals, as run_case does; the oracle's are
/// not.
class DenormalsKept {
 public:
  DenormalsKept() : before_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(before_ & ~0x8040U);
  }
  ~DenormalsKept() { __builtin_ia32_ldmxcsr(before_); }
  DenormalsKept(const DenormalsKept&) = delete;
  DenormalsKept& operator=(const DenormalsKept&) = delete;

 private:
  unsigned before_;
};

struct Bound {
  Op op;
  double (*exact)(double);
  double ulp;
  float low = -kInf;
  float high = kInf;
};

TEST(CodegenMath, HoldsItsBounds) {
  constexpr float kLargestAngle = 0x1p40F;
  const Bound bounds[] = {
      {Op::kExp, [](double x) { return std::exp(x); }, 1},
      {Op::kLog, [](double x) { return std::log(x); }, 1},
      {Op::kTanh, [](double x) { return std::tanh(x); }, 2},
      {Op::kErf, [](double x) { return std::erf(x); }, 1.5},
      {Op::kRsqrt, [](double x) { return 1 / std::sqrt(x); }, 1.5, 0x1p-126F},
      {Op::kSin, [](double x) { return std::sin(x); }, 1, -kLargestAngle, kLargestAngle},
      {Op::kCos, [](double x) { return std::cos(x); }, 1, -kLargestAngle, kLargestAngle},
  };
  const HostTensor x = sample();
  for (const Bound& bound : bounds) {
    const HostTensor result = run_case(make_case(bound.op, {x}));
    const DenormalsKept scope;
    EXPECT_LE(worst_ulp(x, result, bound.exact, bound.low, bound.high), bound.ulp)
        << name_of(bound.op);
  }
}

TEST(CodegenMath, PowerHoldsItsBound) {
  const HostTensor x = sample();
  for (const float y : {-2.5F, -1.0F, 0.0F, 0.5F, 1.0F, 2.0F, 3.0F, 1e-10F, 100.0F, kInf}) {
    const std::vector<float> ys(x.as<const float>().size(), y);
    const HostTensor result = run_case(make_case(Op::kPower, {x, HostTensor::of(x.shape(), ys)}));
    const DenormalsKept scope;
    EXPECT_LE(worst_ulp(x, result, [y](double a) { return std::pow(a, static_cast<double>(y)); }),
              1)
        << "exponent " << y;
  }
}

/// On a thread that flushes denormals, as all that compute do.
TEST(CodegenMath, F64KeepsItsDenormals) {
  const std::vector<double> x{5e-324, 1e-310, -1e-310, 2.2250738585072014e-308, 1e300, 0, 3};
  const Shape shape{static_cast<std::int64_t>(x.size())};
  const HostTensor operand = HostTensor::of(shape, x);
  const HostTensor log = run_case(make_case(Op::kLog, {operand}));
  const HostTensor square = run_case(make_case(Op::kMultiply, {operand, operand}));
  const HostTensor half = run_case(
      make_case(Op::kMultiply, {operand, HostTensor::of(shape, std::vector(x.size(), 0.5))}));
  for (const double y : {0.5, -0.25, 2.0, 1.0, 3.0}) {
    const HostTensor power =
        run_case(make_case(Op::kPower, {operand, HostTensor::of(shape, std::vector(x.size(), y))}));
    const DenormalsKept kept;  // run_case flushes on its caller's thread
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double got = power.as<const double>()[i];
      const double want = std::pow(x[i], y);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
          << x[i] << " ^ " << y << ": " << got;
    }
  }
  const DenormalsKept kept;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double got = log.as<const double>()[i];
    const double want = std::log(x[i]);
    EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << "log " << x[i] << ": " << got;
    EXPECT_EQ(square.as<const double>()[i], x[i] * x[i]);
    EXPECT_EQ(half.as<const double>()[i], x[i] * 0.5);
  }
}

TEST(CodegenMath, IsTheSameWithBothInstructionSets) {
  if (tested_target().isa == Isa::kAvx2) GTEST_SKIP() << "one instruction set";
  const HostTensor x = sample();
  for (const Op op : {Op::kExp, Op::kLog, Op::kTanh, Op::kErf, Op::kRsqrt, Op::kSin, Op::kCos}) {
    const Case c = make_case(op, {x});
    EXPECT_TRUE(same_bits(run_case(c, {.isa = Isa::kAvx2}), run_case(c))) << name_of(op);
  }
}

}  // namespace
}  // namespace lockstep::cpu_test
