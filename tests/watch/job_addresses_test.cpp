#include "watch/job_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(JobAddresses, AreThoseOfTheNamedInterfaces) {
  EXPECT_THAT(job_addresses("lo", {}), Contains("127.0.0.1"));
  EXPECT_THAT(job_addresses("127.0.0.0/8", {}), ElementsAre("127.0.0.1"));
  EXPECT_THAT(job_addresses("no_such_interface", {"127.0.0.1"}), IsEmpty());
  const auto v6 = job_addresses("::1/128", {});
  if (!v6.empty()) {
    EXPECT_THAT(v6, ElementsAre("::1"));
  }
}

TEST(JobAddresses, AreNeverLoopbackByThemselves) {
  for (const auto& hosts : {std::vector<std::string>{}, {"127.0.0.1"}, {"no.such.host.invalid"}})
    EXPECT_THAT(job_addresses("", hosts), Not(Contains("127.0.0.1")));
}

TEST(JobAddresses, ThisHostIsKnownByNameAndAddress) {
  EXPECT_TRUE(are_this_host({}));
  EXPECT_TRUE(are_this_host({"localhost", "127.0.0.1"}));
  for (const std::string& own : job_addresses("", {})) EXPECT_TRUE(are_this_host({own})) << own;
  EXPECT_FALSE(are_this_host({"localhost", "192.0.2.1"}));  // of RFC 5737: nobody's
  EXPECT_FALSE(are_this_host({"no.such.host.invalid"}));
}

}  // namespace
}  // namespace lockstep
