// What tells artifacts of other builds and other machines apart.
#include "core/base/build_id.h"

#include <gtest/gtest.h>

#include "core/base/cpu_model.h"

namespace lockstep {
namespace {

TEST(BuildId, IsTheSameAllTheTimeAndNotNothing) {
  EXPECT_EQ(build_id(), build_id());
  EXPECT_NE(build_id(), hash128("", 0));
}

TEST(CpuModel, IsTheSameAllTheTimeAndNotNothing) {
  EXPECT_EQ(cpu_model(), cpu_model());
  EXPECT_NE(cpu_model(), hash128("", 0));
}

}  // namespace
}  // namespace lockstep
