#include "trainer/launch/lost_hosts.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

TEST(HostsInFile, AreTheFirstWords) {
  const TemporaryFolder folder;
  const std::string path = folder / "hosts.txt";
  std::ofstream(path) << "# of the lab\nnode1 slots=4\n\n  node2:2\nnode3\n";
  EXPECT_THAT(hosts_in_file(path), ElementsAre("node1", "node2", "node3"));
  EXPECT_THAT(hosts_in_file(path + ".none"), IsEmpty());
}

// The names that end in .invalid have no address anywhere (RFC 6761).
TEST(LostHosts, AreNamedWithTheReason) {
  EXPECT_THAT(describe_lost_hosts({"127.0.0.1", "node.invalid"}),
              ElementsAre(StartsWith("the host 'node.invalid' has no address (")));
}

}  // namespace
}  // namespace lockstep
