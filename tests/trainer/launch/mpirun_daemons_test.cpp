#include "trainer/launch/mpirun_daemons.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lockstep {
namespace {

using testing::Contains;
using testing::Not;

/// Both ends of a connection of this process with itself, at an address of loopback of which nobody
/// else has one.
class OwnConnection {
 public:
  explicit OwnConnection(const char* address) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    ::inet_pton(AF_INET, address, &name.sin_addr);
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    socklen_t size = sizeof name;
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size), 0);
    caller_ = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(caller_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  }
  ~OwnConnection() {
    ::close(caller_);
    ::close(listener_);
  }
  OwnConnection(const OwnConnection&) = delete;
  OwnConnection& operator=(const OwnConnection&) = delete;

 private:
  int listener_ = -1;
  int caller_ = -1;
};

TEST(MpirunDaemons, PeersAreThoseOfOpenConnections) {
  constexpr const char* kAddress = "127.77.1.3";
  {
    const OwnConnection connection(kAddress);
    EXPECT_THAT(peers_of(::getpid()), Contains(kAddress));
    EXPECT_THAT(peers_of(::getppid()), Not(Contains(kAddress)))
        << "the table is of the network, not of a process";
  }
  EXPECT_THAT(peers_of(::getpid()), Not(Contains(kAddress)));
}

TEST(MpirunDaemons, OfOtherHostsOnly) {
  const MpirunDaemons daemons({"127.0.0.1", "node.invalid"});
  EXPECT_EQ(daemons.hosts(), std::vector<std::string>{"node.invalid"});
  EXPECT_EQ(daemons.describe(), "") << "nothing was seen yet";
}

TEST(MpirunDaemons, ThoseWithoutAConnectionAreNamed) {
  MpirunDaemons daemons({"node.invalid", "other.invalid"});
  daemons.look(::getpid(), 0);
  EXPECT_FALSE(daemons.all_connected());
  EXPECT_EQ(daemons.describe(), "mpirun's daemons on node.invalid other.invalid are not connected");
}

TEST(MpirunDaemons, LongListsAreCutShort) {
  EXPECT_EQ(list_hosts({"a", "b"}), "a b");
  EXPECT_EQ(list_hosts(std::vector<std::string>(11, "n")), "n n n n n n n n and 3 more");
}

}  // namespace
}  // namespace lockstep
