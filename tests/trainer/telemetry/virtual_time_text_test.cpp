#include "trainer/telemetry/virtual_time_text.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

/// A step of 10 ms, of which 5 is the gradient program.
VirtualTotals steps(std::int64_t gap_ns, std::int64_t input_ns) {
  VirtualTotals out;
  VirtualStep step;
  step.begin = {.begin_ns = 1000, .idle_ns = gap_ns + input_ns, .inputs_ns = input_ns};
  step.times = {.begin_ns = 1000,
                .computed_ns = 5'001'000,
                .reduced_ns = 6'001'000,
                .end_ns = 10'001'000 - gap_ns - input_ns};
  for (int i = 0; i < 4; ++i) out.add(step);
  return out;
}

TEST(VirtualTimeText, SaysWhereTheStepGoes) {
  EXPECT_EQ(virtual_time_text("a100", {}), "");
  EXPECT_EQ(virtual_time_text("a100", steps(0, 0)),
            "simulated on a100: 4 steps of 10 ms: gradient program 50.0 %, all-reduce 10.0 %, "
            "update 40.0 %, waiting for the host 0.0 %, for input 0.0 %");
}

TEST(VirtualTimeText, AdvisesOnWhatIsWaitedFor) {
  const std::string text = virtual_time_text("a100", steps(1'000'000, 2'000'000));
  EXPECT_NE(text.find("update 10.0 %, waiting for the host 10.0 %, for input 20.0 %"),
            std::string::npos);
  EXPECT_NE(text.find("\non this device a step waits 1 ms for the host: "), std::string::npos);
  EXPECT_NE(text.find("\non this device a step waits 2 ms for input: "), std::string::npos);
}

}  // namespace
}  // namespace lockstep
