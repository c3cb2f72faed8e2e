#include "core/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace lockstep {
namespace {

using testing::MatchesRegex;
using testing::ThrowsMessage;

TEST(Errors, KindIsTheExitCode) {
  EXPECT_EQ(Error(ErrorKind::kInternal, "").exit_code(), 1);
  EXPECT_EQ(Error(ErrorKind::kUsage, "").exit_code(), 2);
  EXPECT_EQ(Error(ErrorKind::kData, "").exit_code(), 3);
  EXPECT_EQ(Error(ErrorKind::kCheckpoint, "").exit_code(), 4);
  EXPECT_EQ(Error(ErrorKind::kNonFinite, "").exit_code(), 5);
  EXPECT_EQ(Error(ErrorKind::kOutOfMemory, "").exit_code(), 6);
  EXPECT_EQ(Error(ErrorKind::kPeer, "").exit_code(), 7);
  EXPECT_EQ(Error(ErrorKind::kPreempted, "").exit_code(), 75);
}

TEST(Errors, AUserCheckIsTheMessageAlone) {
  EXPECT_THAT([] { LS_USER_CHECK(1 + 1 == 3, "{} is not {}", 2, 3); },
              ThrowsMessage<Error>("2 is not 3"));
}

TEST(Errors, AnInternalCheckNamesItsPlaceAndCondition) {
  EXPECT_THAT([] { LS_CHECK(1 + 1 == 3, "arithmetic"); },
              ThrowsMessage<Error>(MatchesRegex(
                  "internal error at .*error_test.cpp:[0-9]+: arithmetic .check `1 \\+ 1 == 3` "
                  "failed.")));
}

TEST(Errors, ACheckThatHoldsDoesNotFormat) {
  int formatted = 0;
  LS_USER_CHECK(true, "{}", ++formatted);
  LS_CHECK(true, "{}", ++formatted);
  EXPECT_EQ(formatted, 0);
}

TEST(Errors, ErrnoIsSpelledOut) {
  EXPECT_THAT(
      [] {
        errno = ENOSPC;
        raise_errno(ErrorKind::kCheckpoint, "cannot write a.h5");
      },
      ThrowsMessage<Error>("cannot write a.h5: No space left on device"));
}

}  // namespace
}  // namespace lockstep
