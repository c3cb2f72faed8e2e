#include "trainer/launch/lost_hosts.h"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// The names that end in .invalid have no address anywhere (RFC 6761).
TEST(LostHosts, AreNamedWithTheReason) {
  const std::vector<std::string> hosts{"127.0.0.1", "node.invalid"};
  EXPECT_THAT(describe_lost_hosts(hosts),
              ElementsAre(StartsWith("the host 'node.invalid' has no address (")));
  EXPECT_THAT(silences_of(hosts), ElementsAre(IsEmpty(), StartsWith("the host 'node.invalid'")));
}

}  // namespace
}  // namespace lockstep
