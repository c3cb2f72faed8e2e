// The events of a job in virtual time: where its time went, and its file.
#include "trainer/run/virtual_journal.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using enum JobEvent::Kind;
using testing::HasSubstr;

/// Ten steps of 10 ns, with a save at 5 that pauses the device for 2, and a death at 8.
const std::vector<JobEvent> kJob = {
    {.kind = kBegan, .step = 0, .at_ns = 0},
    {.kind = kSaved, .step = 5, .at_ns = 60, .state_ns = 50, .pause_ns = 2},
    {.kind = kDied, .step = 8, .at_ns = 82, .rank = 1},
    {.kind = kBegan, .step = 5, .at_ns = 182},
    {.kind = kSaved, .step = 10, .at_ns = 240, .state_ns = 232, .pause_ns = 2},
    {.kind = kEnded, .step = 10, .at_ns = 234}};

TEST(VirtualJournal, DividesTheTimeOfAJob) {
  const JobTimes times = times_of(kJob);
  EXPECT_EQ(times.deaths, 1);
  EXPECT_EQ(times.total_ns, 234);
  EXPECT_EQ(times.down_ns, 100);
  EXPECT_EQ(times.again_ns, 32) << "from the state at 50 to the death at 82";
  EXPECT_EQ(times.saves_ns, 2) << "the pause of the first save was lost, too";
  EXPECT_EQ(times.kept_ns, 100);
  EXPECT_THAT(to_text(times), HasSubstr("with 1 death: "));
  EXPECT_THAT(to_text(times), HasSubstr("steps that were kept 42.7 % (goodput)"));
}

TEST(VirtualJournal, KeepsNothingOfALifeWithoutASave) {
  const std::vector<JobEvent> job = {{.kind = kBegan, .step = 0, .at_ns = 0},
                                     {.kind = kDied, .step = 3, .at_ns = 30},
                                     {.kind = kBegan, .step = 0, .at_ns = 40},
                                     {.kind = kEnded, .step = 4, .at_ns = 80}};
  const JobTimes times = times_of(job);
  EXPECT_EQ(times.kept_ns, 40);
  EXPECT_EQ(times.again_ns, 30);
  EXPECT_EQ(times.down_ns, 10);
}

TEST(VirtualJournal, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_job_events(folder.path()).empty());
  write_job_events(folder.path(), kJob);
  const std::vector<JobEvent> read = read_job_events(folder.path());
  ASSERT_EQ(read.size(), kJob.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].kind, kJob[i].kind);
    EXPECT_EQ(read[i].step, kJob[i].step);
    EXPECT_EQ(read[i].at_ns, kJob[i].at_ns);
    EXPECT_EQ(read[i].state_ns, kJob[i].state_ns);
    EXPECT_EQ(read[i].pause_ns, kJob[i].pause_ns);
    EXPECT_EQ(read[i].rank, kJob[i].rank);
  }
}

TEST(VirtualJournal, IsReadStrictly) {
  const TemporaryFolder folder;
  const auto problem_of = [&](const std::string& text) {
    std::ofstream(virtual_journal_path(folder.path())) << text;
    return usage_error([&] { read_job_events(folder.path()); });
  };
  EXPECT_THAT(problem_of("{}"), HasSubstr("virtual_time.json is no journal of virtual time"));
  EXPECT_THAT(problem_of(R"({"format": "lockstep virtual time", "version": 2, "events": []})"),
              HasSubstr("this version is not supported"));
  EXPECT_THAT(problem_of(R"({"format": "lockstep virtual time", "version": 1,
                             "events": [{"event": "began", "step": -1, "at_ns": 0}]})"),
              HasSubstr("step"));
}

}  // namespace
}  // namespace lockstep
