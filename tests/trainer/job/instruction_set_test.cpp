// Sessions of one process and their instruction sets.
#include "trainer/job/instruction_set.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "collectives/single.h"
#include "core/kernels/base/libraries.h"
#include "core/kernels/cpu/base/onednn.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

/// What a session that asks for `max` is told in a process that has made kernels for `before`.
[[noreturn]] void ask_after(const Target& before, MaxIsa max) {
  limit_onednn(before);
  const std::array<float, 1> x{1};
  std::array<float, 1> y{};
  gemm_f32(1, 1, 1, 1.0F, x.data(), {1, 1}, x.data(), {1, 1}, 0.0F, y.data(), 1);
  const auto communicator = make_single_communicator();
  const auto ask = [&] { (void)agree_on_instruction_set(*communicator, max, {}, Log::null()); };
  std::fprintf(stderr, "said: %s\n", error_of(ask).c_str());
  std::_Exit(0);
}

TEST(InstructionSetDeathTest, OfASecondSessionIsTheFirstOnesOrAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Target narrow{.isa = Isa::kAvx2};
  const Target wide{.isa = Isa::kAvx512};  // oneDNN takes a limit that is above the processor
  EXPECT_EXIT(ask_after(narrow, MaxIsa::kAvx2), testing::ExitedWithCode(0), "said: no error");
  EXPECT_EXIT(ask_after(wide, MaxIsa::kAvx2), testing::ExitedWithCode(0),
              "said: 2: kernels for AVX2 cannot be made .* fixed to AVX-512; .* device.max_isa");
}

}  // namespace
}  // namespace lockstep
