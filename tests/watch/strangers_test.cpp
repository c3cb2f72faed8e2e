// What strangers do to a hub, and what a false hub does to a node, on loopback.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/watch/comes_true.h"
#include "watch/node_frame.h"
#include "watch/side_hub.h"
#include "watch/side_link.h"

namespace lockstep {
namespace {

using Stopwatch = std::chrono::steady_clock;

double seconds_from(Stopwatch::time_point begin) {
  return std::chrono::duration<double>(Stopwatch::now() - begin).count();
}

sockaddr_in loopback(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

int port_of(const std::string& address) {
  return std::stoi(address.substr(address.rfind(':') + 1));
}

/// A plain connection, which says what a test wants.
class Caller {
 public:
  explicit Caller(const std::string& address) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in to = loopback(port_of(address));
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) close();
  }
  explicit Caller(int fd) : fd_(fd) {}
  ~Caller() { close(); }
  Caller(Caller&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Caller& operator=(Caller&&) = delete;

  bool say(std::string_view bytes) const {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  /// So many bytes; fewer if the other end closes.
  std::string hear(std::size_t bytes) const {
    std::string out(bytes, '\0');
    const ssize_t got = ::recv(fd_, out.data(), out.size(), MSG_WAITALL);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }
  int descriptor() const { return fd_; }
  /// Whether the other end closes within ten seconds.
  bool is_hung_up() const {
    const auto begin = Stopwatch::now();
    while (seconds_from(begin) < 10) {
      pollfd closed{fd_, POLLIN | POLLRDHUP, 0};
      if (::poll(&closed, 1, 100) <= 0) continue;
      if ((closed.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return true;
      char byte = 0;
      if (::recv(fd_, &byte, 1, 0) <= 0) return true;
    }
    return false;
  }

 private:
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int fd_;
};

/// A node of the job that is written by hand.
struct HandMadeNode {
  Caller caller;
  SideNonce nonce{};
  std::string hello;
  std::optional<SealedFrames> out;
  std::optional<SealedFrames> in;

  HandMadeNode(const std::string& address, const SideToken& token) : caller(address) {
    const std::string bytes = caller.hear(nonce.size());
    std::copy(bytes.begin(), bytes.end(), nonce.begin());
    hello = make_hello(token, nonce, make_side_nonce());
    out.emplace(token, nonce, hello, SideSender::kNode);
    in.emplace(token, nonce, hello, SideSender::kHub);
    caller.say(hello);
  }
  /// The hub's next frame; nothing if it closed, or the seal is wrong.
  std::optional<std::string> hear() {
    const std::string head = caller.hear(SealedFrames::kLengthBytes);
    if (head.size() != SealedFrames::kLengthBytes) return std::nullopt;
    std::array<unsigned char, SealedFrames::kLengthBytes> length{};
    std::copy(head.begin(), head.end(), length.begin());
    std::string rest = caller.hear(SealedFrames::rest_bytes(length));
    if (!in->take(rest)) return std::nullopt;
    return rest;
  }
};

bool hears(SideLink& link, const std::string& word) {
  const auto heard = link.take_heard();
  return std::find(heard.begin(), heard.end(), word) != heard.end();
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Sets the limit of open files while it lives.
class OpenFiles {
 public:
  explicit OpenFiles(rlim_t limit) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit now{limit, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~OpenFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(Strangers, WhoSaysNothingIsDisconnectedWithinASecond) {
  const SideHub hub(make_side_token(), {});
  const Caller caller(hub.inner_address());
  const auto begin = Stopwatch::now();
  ASSERT_TRUE(caller.is_hung_up());
  // Twice as long: a loaded machine may wake the test late.
  EXPECT_LT(seconds_from(begin), 2);
  EXPECT_LT(SideHub::kHelloPatience, std::chrono::seconds(1));
}

TEST(Strangers, WhoSaysAByteAtATimeGetsNoMoreTime) {
  const SideHub hub(make_side_token(), {});
  const Caller caller(hub.inner_address());
  const auto begin = Stopwatch::now();
  bool closed = false;
  for (int i = 0; i < 100 && !closed; ++i) {  // a hello of 48 bytes takes 5 s
    closed = !caller.say("x");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(closed);
  EXPECT_LT(seconds_from(begin), 4);
}

TEST(Strangers, AWrongHelloIsTheEnd) {
  const SideHub hub(make_side_token(), {});
  HandMadeNode stranger(hub.inner_address(), make_side_token());
  EXPECT_FALSE(stranger.hear());
  SideLink link({hub.inner_address()}, make_side_token());
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_FALSE(link.was_connected());
}

TEST(Strangers, AHelloIsOfNoUseOnAnotherConnection) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {});
  HandMadeNode node(hub.inner_address(), token);
  EXPECT_EQ(node.hear(), "");
  const Caller thief(hub.inner_address());
  thief.hear(sizeof(SideNonce));
  thief.say(node.hello);
  EXPECT_TRUE(thief.is_hung_up());
}

TEST(Strangers, ARepeatedOrChangedFrameIsTheEnd) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {});
  SideLink listener({hub.inner_address()}, token);
  ASSERT_TRUE(comes_true([&] { return listener.was_connected(); }));
  const auto is_refused = [&](const std::function<std::string(SealedFrames&)>& bad) {
    HandMadeNode node(hub.inner_address(), token);
    EXPECT_EQ(node.hear(), "");
    EXPECT_TRUE(node.caller.say(node.out->make("good")));
    EXPECT_TRUE(comes_true([&] { return hears(listener, "good"); }));
    EXPECT_TRUE(node.caller.say(bad(*node.out)));
    while (node.hear()) continue;  // beats, and then the end
    return listener.take_heard().empty();
  };
  EXPECT_TRUE(is_refused([](SealedFrames& out) {
    SealedFrames again = out;
    return out.make("") + again.make("");
  }));
  EXPECT_TRUE(is_refused([](SealedFrames& out) {
    std::string frame = out.make("bad");
    frame[SealedFrames::kLengthBytes] = 'B';
    return frame;
  }));
  EXPECT_TRUE(is_refused([](SealedFrames& out) {
    out.make("left out");
    return out.make("bad");
  }));
  EXPECT_TRUE(is_refused([](SealedFrames&) { return std::string(4, '\xff'); }));
}

TEST(Strangers, AFalseHubIsNotHeard) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = loopback(0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(fd, 8), 0);
  socklen_t size = sizeof at;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  const SideToken token = make_side_token();
  SideLink link({"127.0.0.1:" + std::to_string(ntohs(at.sin_port))}, token);
  link.publish("secret");
  {
    const Caller node(::accept(fd, nullptr, nullptr));
    const SideNonce nonce{};
    node.say({reinterpret_cast<const char*>(nonce.data()), nonce.size()});
    const std::string hello = node.hear(kHelloBytes);
    ASSERT_TRUE(is_hello(hello, token, nonce));
    // What it sent comes back, and what another sealed: neither is a hub's.
    node.say(node.hear(SealedFrames::kLengthBytes + 6 + sizeof(SideSeal)));
    EXPECT_TRUE(node.is_hung_up());
  }
  const Caller again(::accept(fd, nullptr, nullptr));  // it tries again
  EXPECT_FALSE(link.was_connected());
  EXPECT_TRUE(link.take_heard().empty());
  ::close(fd);
}

TEST(Strangers, AreBoundedAndDoNotKeepANodeOut) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {});
  const auto count_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  SideLink first({hub.inner_address()}, token);
  ASSERT_TRUE(comes_true([&] { return first.was_connected(); }));
  const auto before = count_files();
  std::vector<Caller> strangers;
  for (int i = 0; i < 200; ++i) strangers.emplace_back(hub.inner_address());
  SideLink second({hub.inner_address()}, token);
  EXPECT_TRUE(comes_true([&] {
    // Ours are half of the connections, in this process.
    EXPECT_LE(count_files() - before, 200 + 2 + static_cast<long>(SideHub::kStrangers) + 4);
    first.publish("heard");
    return hears(second, "heard");
  }));
  for (const Caller& stranger : strangers) EXPECT_TRUE(stranger.is_hung_up());
}

TEST(Strangers, WhoCallsAgainAndAgainWaits) {
  const SideHub hub(make_side_token(), {});
  const auto begin = Stopwatch::now();
  int greeted = 0;
  while (seconds_from(begin) < 2) {
    const Caller caller(hub.inner_address());
    timeval patience{0, 100'000};
    ::setsockopt(caller.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    greeted += static_cast<int>(!caller.hear(sizeof(SideNonce)).empty());
  }
  // The seconds may begin and end within the time of the hub's.
  EXPECT_LE(greeted, SideHub::kBurst + 3 * SideHub::kPerSecond);
}

TEST(Strangers, FuzzedBytesReachNobody) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {});
  SideLink listener({hub.inner_address()}, token);
  ASSERT_TRUE(comes_true([&] { return listener.was_connected(); }));
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::optional<HandMadeNode> node;
    std::optional<Caller> stranger;
    if (i % 2 == 0) node.emplace(hub.inner_address(), token);
    if (i % 2 == 1) stranger.emplace(hub.inner_address());
    std::string bytes = i % 4 == 0 ? node->out->make("frame") : "";
    bytes.resize(bytes.size() + random() % 200);
    for (int k = 0; k < 8 && !bytes.empty(); ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    // A change behind the first frame leaves that one right; so its first byte changes as well.
    if (i % 4 == 0) bytes[SealedFrames::kLengthBytes] = 'F';
    (node ? node->caller : *stranger).say(bytes);
  }
  SideLink speaker({hub.inner_address()}, token);
  std::vector<std::string> heard;
  EXPECT_TRUE(comes_true([&] {
    speaker.publish("end");
    for (std::string& bytes : listener.take_heard()) heard.push_back(std::move(bytes));
    return !heard.empty();
  }));
  for (const std::string& bytes : heard) EXPECT_EQ(bytes, "end");
}

/// As many as possible, at most `count`.
std::vector<Caller> open_files(unsigned count) {
  std::vector<Caller> out;
  for (int fd = 0; out.size() < count && (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
    out.emplace_back(fd);
  return out;
}

TEST(Strangers, LeaveDescriptorsForSaving) {
  const SideHub hub(make_side_token(), {});
  constexpr unsigned kBefore = 4 * SideHub::kSetAside;  // so many that the limit is no low one
  const std::vector<Caller> files = open_files(kBefore);
  const Caller next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  // Room for the strangers' own ends and 10 of the hub's, before those that are set aside.
  constexpr unsigned kCallers = SideHub::kStrangers;
  const int first_aside = next.descriptor() + 1 + static_cast<int>(kCallers) + 10;
  const OpenFiles limit(static_cast<rlim_t>(first_aside) + SideHub::kSetAside);
  std::vector<Caller> strangers;
  for (unsigned i = 0; i < kCallers; ++i) strangers.emplace_back(hub.inner_address());
  // All are taken that the hub may take: now it would take one more.
  EXPECT_TRUE(comes_true([&] { return ::fcntl(first_aside - 1, F_GETFD) >= 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto of_ours = std::ranges::count_if(
      strangers, [&](const Caller& stranger) { return stranger.descriptor() >= first_aside; });
  EXPECT_GE(std::ssize(open_files(2 * SideHub::kSetAside)) + of_ours,
            std::ptrdiff_t{SideHub::kSetAside});
}

TEST(Strangers, WithoutDescriptorsTheHubWaitsInPeace) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {});
  {
    const OpenFiles limit(100);
    std::vector<Caller> files = open_files(100);
    ASSERT_EQ(errno, EMFILE);
    files.pop_back();
    const Caller waiting(hub.inner_address());  // takes the last one
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_LT(cpu_seconds() - before, 0.1);  // a hub that spins takes 0.5 s
  }
  SideLink link({hub.inner_address()}, token);
  EXPECT_TRUE(comes_true([&] { return link.was_connected(); }));
}

TEST(Sockets, AreNotInherited) {
  const SideToken token = make_side_token();
  const SideHub hub(token, {});
  SideLink link({hub.inner_address()}, token);
  ASSERT_TRUE(comes_true([&] { return link.was_connected(); }));
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &listens, &size) != 0) continue;
    sockaddr_in at{};
    size = sizeof at;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) continue;
    if (at.sin_family != AF_INET) continue;
    ++sockets;
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << fd;
  }
  EXPECT_GE(sockets, 3);  // the hub's, and both ends of the connection
}

}  // namespace
}  // namespace lockstep
