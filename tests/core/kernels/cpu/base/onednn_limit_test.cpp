// oneDNN has one instruction set per process: a different one is an error, never ignored. Each test
// runs in its own process.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <initializer_list>

#include "core/kernels/base/libraries.h"
#include "core/kernels/cpu/base/onednn.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {
namespace {

// Whatever this processor has: oneDNN takes a limit that is above it.
constexpr Target kNarrow{.isa = Isa::kAvx2};
constexpr Target kWide{.isa = Isa::kAvx512};

void use_onednn() {
  const std::array<float, 4> x{1, 2, 3, 4};
  std::array<float, 4> y{};
  gemm_f32(2, 2, 2, 1.0F, x.data(), {2, 1}, x.data(), {2, 1}, 0.0F, y.data(), 2);
}

/// Ends the process; tells what limiting oneDNN to each of the targets said.
template <class Prepare>
[[noreturn]] void limit_and_exit(const Prepare& prepare, const Target& wanted) {
  prepare();
  std::fprintf(stderr, "said: %s\n", error_of([&] { limit_onednn(wanted); }).c_str());
  std::_Exit(0);
}

class OneDnnLimitDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(OneDnnLimitDeathTest, CanChangeUntilItIsUsed) {
  EXPECT_EXIT(limit_and_exit([] { limit_onednn(kNarrow); }, kWide), testing::ExitedWithCode(0),
              "said: no error");
}

/// Ends the process; tells whether oneDNN, limited to one target after the other, multiplies bf16:
/// it does so within AVX-512 only.
[[noreturn]] void limit_and_multiply_bf16(std::initializer_list<Target> targets) {
  for (const Target& target : targets) limit_onednn(target);
  const auto product = Matmul::describe(
      {1, 16, 16, 16, DType::kBF16, DType::kF32, 256, 256, 256, {16, 1}, {16, 1}, 16});
  std::fprintf(stderr, "multiplies bf16: %s\n", product == nullptr ? "no" : "yes");
  std::_Exit(0);
}

TEST_F(OneDnnLimitDeathTest, IsTheLastOneBeforeItIsUsed) {
  const bool has_avx512 = host_target().isa == Isa::kAvx512;
  EXPECT_EXIT(limit_and_multiply_bf16({kWide, kNarrow}), testing::ExitedWithCode(0),
              "multiplies bf16: no");
  EXPECT_EXIT(limit_and_multiply_bf16({kNarrow, kWide}), testing::ExitedWithCode(0),
              has_avx512 ? "multiplies bf16: yes" : "multiplies bf16: no");
}

TEST_F(OneDnnLimitDeathTest, IsAnErrorOfALaterTargetThatHasMore) {
  EXPECT_EXIT(limit_and_exit(
                  [] {
                    limit_onednn(kNarrow);
                    use_onednn();
                    limit_onednn(kNarrow);
                  },
                  kWide),
              testing::ExitedWithCode(0),
              "said: 2: kernels for AVX-512 cannot be made in this process: .* fixed to AVX2; ");
}

TEST_F(OneDnnLimitDeathTest, IsAnErrorOfALaterTargetThatHasLess) {
  EXPECT_EXIT(limit_and_exit(
                  [] {
                    limit_onednn(kWide);
                    use_onednn();
                  },
                  kNarrow),
              testing::ExitedWithCode(0),
              "said: 2: kernels for AVX2 cannot be made in this process: .* fixed to AVX-512; ");
}

}  // namespace
}  // namespace lockstep
