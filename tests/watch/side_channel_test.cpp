// Frames, hubs and links, on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "core/base/error.h"
#include "tests/watch/comes_true.h"
#include "watch/node_frame.h"
#include "watch/other_nodes.h"
#include "watch/side_hub.h"
#include "watch/side_link.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

RankReport report_of(int rank) {
  RankReport out;
  out.rank = rank;
  out.host = "node-b";
  out.pid = 4000 + rank;
  out.state = ProcessState::kStopped;
  out.progress = 0x123456789abcULL;
  out.beat = 77;
  out.host_lane = {Phase::kRead, 812, ""};
  out.device_lane = {Phase::kForward, 813, ""};
  out.waits_for_peers = true;
  out.peer_wait = "all_reduce bucket 4";
  out.peer_step = 812;
  out.foreign_calls = {"fsync"};
  out.exit_code = 75;
  return out;
}

TEST(NodeFrame, ComesBackAsItWent) {
  const auto frame = decode_frame(encode({"node-b", {report_of(4), report_of(5)}}));
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->host, "node-b");
  ASSERT_EQ(frame->ranks.size(), 2U);
  const RankReport& got = frame->ranks[1];
  const RankReport want = report_of(5);
  EXPECT_EQ(describe_rank(got), describe_rank(want));
  EXPECT_EQ(describe_place(got), describe_place(want));
  EXPECT_EQ(got.state, want.state);
  EXPECT_EQ(got.progress, want.progress);
  EXPECT_EQ(got.beat, want.beat);
  EXPECT_EQ(got.waits_for_peers, want.waits_for_peers);
  EXPECT_EQ(got.peer_wait, want.peer_wait);
  EXPECT_EQ(got.peer_step, want.peer_step);
  EXPECT_EQ(got.foreign_calls, want.foreign_calls);
  EXPECT_EQ(got.exit_code, want.exit_code);
}

TEST(NodeFrame, StaysWithinItsBound) {
  NodeFrame frame{"node-b", {}};
  for (int rank = 0; rank < 500; ++rank) frame.ranks.push_back(report_of(rank));
  const std::string bytes = encode(frame);
  EXPECT_LE(bytes.size(), NodeFrame::kBytes);
  const auto back = decode_frame(bytes);
  ASSERT_TRUE(back);
  EXPECT_GE(back->ranks.size(), 40U);
}

TEST(NodeFrame, RefusesWhatIsCutOrForeign) {
  const std::string bytes = encode({"node-b", {report_of(4)}});
  for (std::size_t length = 8; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_frame(std::string_view(bytes).substr(0, length))) << length;
  EXPECT_FALSE(decode_frame(std::string(NodeFrame::kBytes + 1, '\0')));
  EXPECT_FALSE(decode_frame(std::string(100, '\xff')));
}

TEST(SideToken, IsThirtyTwoDigits) {
  const SideToken token = make_side_token();
  EXPECT_EQ(parse_side_token(to_hex(token)), token);
  EXPECT_NE(make_side_token(), token);
  for (const char* bad : {"", "0123", "0123456789abcdef0123456789abcdeg"})
    EXPECT_THROW(parse_side_token(bad), Error) << bad;
}

TEST(SideHub, PassesFramesToAllOtherNodes) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {});
  const std::vector<std::string> at{hub.inner_address()};
  OtherNodes a(at, token);
  OtherNodes b(at, token);
  std::vector<RankReport> seen;
  EXPECT_TRUE(comes_true([&] {
    a.tell("node-a", {report_of(0)});
    b.tell("node-b", {report_of(1)});
    seen = b.read(1);
    return !seen.empty() && !a.read(1).empty();
  }));
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].rank, 0);
  EXPECT_EQ(seen[0].host, "node-a");
  EXPECT_TRUE(a.was_connected());
  EXPECT_LT(a.silence(), 10);
}

TEST(SideHub, IsReachedAtItsAddressesOnly) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {"127.0.0.1", "::1", "192.0.2.1", "nonsense"});
  EXPECT_THAT(hub.addresses(), StartsWith("127.0.0.1:"));
  const bool has_v6 = hub.addresses().find("[::1]:") != std::string::npos;
  EXPECT_EQ(std::count(hub.addresses().begin(), hub.addresses().end(), ','), has_v6 ? 1 : 0);
  SideLink link({has_v6 ? hub.addresses().substr(hub.addresses().find('[')) : hub.addresses()},
                token);
  EXPECT_TRUE(comes_true([&] { return link.was_connected(); }));
  EXPECT_EQ(SideHub(token, {}).addresses(), "");
}

TEST(SideLink, TriesEveryAddressInTurn) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {});
  SideLink link({"nonsense,127.0.0.1:1," + hub.inner_address()}, token);
  EXPECT_TRUE(comes_true([&] { return link.was_connected(); }));
}

TEST(SideLink, OneOfTwoHubsIsEnough) {
  const SideToken token = make_side_token();
  auto first = std::make_unique<SideHub>(token, std::vector<std::string>{});
  const SideHub second(token, {});
  const std::vector<std::string> at{first->inner_address(), second.inner_address()};
  SideLink a(at, token);
  SideLink b(at, token);
  const auto b_hears = [&](const std::string& word) {
    return comes_true([&] {
      a.publish(word);
      const auto heard = b.take_heard();
      return std::find(heard.begin(), heard.end(), word) != heard.end();
    });
  };
  EXPECT_TRUE(b_hears("before"));
  first.reset();
  EXPECT_TRUE(b_hears("after"));
}

TEST(SideLink, SaysItsLastWord) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {});
  const std::vector<std::string> at{hub.inner_address()};
  OtherNodes listener(at, token);
  ASSERT_TRUE(comes_true([&] { return listener.was_connected(); }));
  for (int rank = 0; rank < 2; ++rank) {
    {
      OtherNodes leaving(at, token);
      ASSERT_TRUE(comes_true([&] { return leaving.was_connected(); }));
      leaving.tell("node-a", {report_of(rank)});
    }
    EXPECT_TRUE(comes_true([&] { return listener.read(1).size() == rank + 1U; })) << rank;
  }
}

TEST(SideLink, GrowsSilentWithItsHub) {
  const SideToken token = make_side_token();
  auto hub = std::make_unique<SideHub>(token, std::vector<std::string>{});
  SideLink link({hub->inner_address()}, token);
  ASSERT_TRUE(comes_true([&] { return link.was_connected(); }));
  hub.reset();
  EXPECT_TRUE(comes_true([&] { return link.silence() > 2.5; }));
}

}  // namespace
}  // namespace lockstep
