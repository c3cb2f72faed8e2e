// If a graph may give 0 or -0, there is no estimate for values divided by it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/ir/text.h"
#include "tests/roundoff/estimate.h"

namespace lockstep::testing {
namespace {

/// Whether a graph on x = {0, -0} and y = {-0, 0} has estimates; its text is written with f32.
bool has_estimates(DType dtype, std::string text) {
  text = "%x = f32[2] input() %y = f32[2] input() %half = f32[] constant() {value=0.5} " + text +
         " return %r";
  const std::string name(name_of(dtype));
  for (std::size_t i = 0; (i = text.find("f32", i)) != std::string::npos; i += name.size())
    text.replace(i, 3, name);
  const std::vector<double> x = {0, -0.0};
  const std::vector<double> y = {-0.0, 0};
  const std::vector<HostTensor> inputs = {from_doubles(dtype, Shape{2}, x),
                                          from_doubles(dtype, Shape{2}, y)};
  return estimate_graph(parse(text, "test.ir"), inputs).has_value();
}

TEST(OpenZeros, AreWhatReductionsGive) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    EXPECT_FALSE(
        has_estimates(dtype, "%z = f32[] reduce_max(%x) {dims=[0]} %r = f32[] divide(%half, %z)"));
    EXPECT_FALSE(has_estimates(dtype,
                               "%z = f32[] reduce_min(%x) {dims=[0]} "
                               "%s = f32[] multiply(%z, %half) %r = f32[] divide(%half, %s)"));
    EXPECT_TRUE(
        has_estimates(dtype, "%z = f32[] reduce_max(%x) {dims=[0]} %r = f32[] add(%half, %z)"));
  }
}

TEST(OpenZeros, AreNotWhatAMaximumOfTwoGives) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    EXPECT_TRUE(has_estimates(dtype,
                              "%z = f32[2] maximum(%x, %y) %halves = f32[2] broadcast(%half) "
                              "{shape=[2], dims=[]} %r = f32[2] divide(%halves, %z)"));
}

}  // namespace
}  // namespace lockstep::testing
