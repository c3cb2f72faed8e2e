#include "trainer/launch/mpirun_words.h"

#include <gmock/gmock.h>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> written(const std::vector<Host>& hosts) {
  std::vector<std::string> out;
  for (const Host& host : hosts) out.push_back(fmt::format("{}:{}", host.name, host.ranks));
  return out;
}

std::string hosts_error(const std::string& hosts, int ranks) {
  return usage_error([&] { parse_hosts(hosts, ranks); });
}

TEST(ParseHosts, TakesCountsOrSpreadsRanksEvenly) {
  EXPECT_THAT(written(parse_hosts("a:3,b:1", 4)), ElementsAre("a:3", "b:1"));
  EXPECT_THAT(written(parse_hosts("a,b", 4)), ElementsAre("a:2", "b:2"));
  EXPECT_THAT(written(parse_hosts("a,b,c", 5)), ElementsAre("a:2", "b:2", "c:1"));
  EXPECT_THAT(written(parse_hosts("10.0.0.1:8,10.0.0.2:8", 9)),
              ElementsAre("10.0.0.1:8", "10.0.0.2:8"));
}

TEST(ParseHosts, RefusesWhatMpirunWouldMisunderstand) {
  EXPECT_THAT(hosts_error("a:1,b", 2), HasSubstr("for some hosts only"));
  EXPECT_THAT(hosts_error("a:1,b:1", 3), HasSubstr("has room for 2 ranks, and -n is 3"));
  EXPECT_THAT(hosts_error("a,b,c", 2), HasSubstr("2 ranks are too few for 3 hosts"));
  for (const char* count : {"a:0", "a:-1", "a:x", "a:", "a:2x"})
    EXPECT_THAT(hosts_error(count, 1), HasSubstr(fmt::format("'{}' must be a host", count)));
  for (const char* hosts : {"", ",", "a,", "-x:1"})
    EXPECT_THAT(hosts_error(hosts, 2), HasSubstr("names no host"));
}

TEST(MpirunWords, HasTheFlagsThatLockstepNeeds) {
  EXPECT_THAT(
      mpirun_words(
          {.ranks = 2, .hosts = {}, .hostfile = "", .variables = {"TOKEN"}, .as_root = false},
          {"lockstep", "train", "a.yaml"}),
      ElementsAre("mpirun", "--bind-to", "none", "--oversubscribe", "-np", "2", "-x", "TOKEN",
                  "lockstep", "train", "a.yaml"));
}

TEST(MpirunWords, NamesHostsAndAllowsRoot) {
  MpirunOptions options;
  options.ranks = 3;
  options.hosts = {{"a", 2}, {"b", 1}};
  options.hostfile = "hosts.txt";
  options.as_root = true;
  EXPECT_THAT(mpirun_words(options, {"x"}),
              ElementsAre("mpirun", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe",
                          "-np", "3", "--host", "a:2,b:1", "--hostfile", "hosts.txt", "x"));
}

}  // namespace
}  // namespace lockstep
