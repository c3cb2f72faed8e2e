#include "trainer/launch/slurm_job.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(SlurmJob, ValuesOfAJobByWholeNames) {
  const std::string_view line = "JobId=7 OldJobState=A JobState=RUNNING Reason=None Restarts=";
  EXPECT_EQ(value_in(line, "JobState"), "RUNNING");
  EXPECT_EQ(value_in(line, "JobId"), "7");
  EXPECT_EQ(value_in(line, "Job"), "");
  EXPECT_EQ(value_in(line, "Restarts"), "");
  EXPECT_EQ(value_in("", "JobState"), "");
}

}  // namespace
}  // namespace lockstep
