#include "trainer/launch/mpirun_remarks.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

const std::string kDashes = std::string(74, '-') + "\n";
const std::string kPrimary =
    kDashes +
    "Primary job  terminated normally, but 1 process returned\n"
    "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
    kDashes;
const std::string kDetected =
    kDashes +
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated. The first process to do so was:\n\n"
    "  Process name: [[22023,1],1]\n  Exit code:    75\n" +
    kDashes;
const std::string kKilled = kDashes +
                            "mpirun noticed that process rank 1 with PID 7 on node node1 exited on "
                            "signal 9 (Killed).\n" +
                            kDashes;

/// What comes through of a stream that is read `step` bytes at a time.
std::string passed(const std::string& text, std::size_t step) {
  MpirunRemarks remarks;
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += step) out += remarks.take(text.substr(at, step));
  return out + remarks.release();
}

TEST(MpirunRemarks, ExitCodesAndForwardedSignalsAreDropped) {
  const std::string text = "lockstep: saved\n" + kPrimary + kDetected +
                           "mpirun: Forwarding signal 18 to job\nlockstep: error: no\n";
  for (const std::size_t step : {1, 7, 75, 4096})
    EXPECT_EQ(passed(text, step), "lockstep: saved\nlockstep: error: no\n") << step;
}

TEST(MpirunRemarks, ALostDaemonNamesItsHost) {
  const std::string lost = kDashes +
                           "ORTE has lost communication with a remote daemon.\n\n"
                           "  HNP daemon   : [[3475,0],0] on node node1\n"
                           "  Remote daemon: [[3475,0],1] on node node2\n\n"
                           "This is usually due to either a failure of the TCP network\n" +
                           kDashes;
  MpirunRemarks remarks;
  EXPECT_EQ(remarks.take(kKilled + lost), kKilled + lost);
  EXPECT_EQ(remarks.lost_hosts(), std::vector<std::string>{"node2"});
}

TEST(MpirunRemarks, AllElseComesThrough) {
  std::string endless = kDashes;
  endless.append(5000, 'x').append("\n").append(kKilled);
  const std::string other = kKilled + "--- a rule of a rank\n" + kDashes + "no end of it\n";
  for (const std::string& text :
       {kKilled, other, endless, "a" + kPrimary, std::string("mpirun: Fo"), std::string("---"),
        kDashes, "\n\n" + kKilled + "mpirun: no\n"})
    for (const std::size_t step : {1, 10, 9999}) EXPECT_EQ(passed(text, step), text) << step;
}

TEST(MpirunRemarks, ARankIsHeardAtOnce) {
  MpirunRemarks remarks;
  EXPECT_EQ(remarks.take("prog"), "prog");
  EXPECT_EQ(remarks.take("ress\n-"), "ress\n");
  EXPECT_TRUE(remarks.holds());
  EXPECT_EQ(remarks.take("1.5"), "-1.5");
  EXPECT_FALSE(remarks.holds());
}

TEST(MpirunRemarks, WhatIsReleasedIsNoRemarkAnyMore) {
  MpirunRemarks remarks;
  EXPECT_EQ(remarks.take("mpirun: Forw"), "");
  EXPECT_EQ(remarks.release(), "mpirun: Forw");
  EXPECT_EQ(remarks.take("ard march\n"), "ard march\n");
  EXPECT_EQ(remarks.take(kPrimary), "");
}

}  // namespace
}  // namespace lockstep
