#include "watch/side_hub.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <deque>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kBeat = std::chrono::seconds(1);
constexpr int kAtOnce = 64;  // connections that are accepted before anything else is done
constexpr auto kAcceptPause = std::chrono::milliseconds(20);

/// The lowest descriptor that is not for connections. The kernel gives the lowest free one, so all
/// below are in use by then.
int first_set_aside() {
  rlimit limit{};
  constexpr rlim_t kMost = 1U << 20;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<int>(kMost);
  const rlim_t all = std::min(limit.rlim_cur, kMost);
  return static_cast<int>(all - std::min(rlim_t{SideHub::kSetAside}, all / 4));
}

}  // namespace

/// Everything runs on one thread, which runs the io_context.
class SideHub::Server {
 public:
  Server(const SideToken& token, const std::vector<std::string>& addresses)
      : token_(token), beat_(context_) {
    error_code error;
    for (const std::string& address : addresses)
      if (const std::string at = listen(address, error); !at.empty())
        addresses_ += (addresses_.empty() ? "" : ",") + at;
    inner_address_ = listen("127.0.0.1", error);
    if (doors_.empty()) raise(ErrorKind::kPeer, "the watch cannot listen: {}", error.message());
    for (const auto& door : doors_) accept(*door);
    beat();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Server() {
    context_.stop();
    thread_.join();
  }

  const std::string& addresses() const { return addresses_; }
  const std::string& inner_address() const { return inner_address_; }

 private:
  struct Door {
    explicit Door(asio::io_context& context) : acceptor(context), pause(context) {}
    tcp::acceptor acceptor;
    asio::steady_timer pause;
  };

  struct Caller {
    explicit Caller(asio::io_context& context) : socket(context), patience(context) {}
    tcp::socket socket;
    asio::steady_timer patience;  ///< until it has said hello
    SideNonce nonce = make_side_nonce();
    std::string hello = std::string(kHelloBytes, '\0');
    std::optional<SealedFrames> from;  ///< once it has said hello: it is a node
    std::optional<SealedFrames> to;
    std::array<unsigned char, SealedFrames::kLengthBytes> length{};
    std::string bytes;
    std::deque<std::string> waiting;
  };
  using CallerPtr = std::shared_ptr<Caller>;

  /// "10.0.0.1:4711"; "" if this host cannot listen there.
  std::string listen(const std::string& address, error_code& error) {
    const auto at = asio::ip::make_address(address, error);
    if (error) return "";
    auto door = std::make_unique<Door>(context_);
    // NOLINTBEGIN(bugprone-unused-return-value): they return `error` once more
    door->acceptor.assign(at.is_v6() ? tcp::v6() : tcp::v4(), open_side_socket(at.is_v6()), error);
    if (!error) door->acceptor.bind({at, 0}, error);
    if (!error) door->acceptor.listen(asio::socket_base::max_listen_connections, error);
    // NOLINTEND(bugprone-unused-return-value)
    if (error) return "";
    const std::uint16_t port = door->acceptor.local_endpoint().port();
    doors_.push_back(std::move(door));
    return fmt::format(fmt::runtime(at.is_v6() ? "[{}]:{}" : "{}:{}"), at.to_string(), port);
  }

  // Accepts a few, and then nothing for a moment: also if there are no descriptors, when the next
  // caller waits in the kernel.
  void accept(Door& door) {
    door.acceptor.async_wait(tcp::acceptor::wait_read, [this, &door](error_code error) {
      if (error) return;
      for (int i = 0; i < kAtOnce && budget_ > 0 && accept_one(door.acceptor); ++i) --budget_;
      door.pause.expires_after(kAcceptPause);
      door.pause.async_wait([this, &door](error_code) { accept(door); });
    });
  }

  /// False if nobody waits, or no descriptor is left for another one.
  bool accept_one(tcp::acceptor& acceptor) {
    const int fd =
        ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return errno == ECONNABORTED || errno == EINTR;
    if (fd >= first_set_aside()) {
      ::close(fd);
      return false;
    }
    const auto caller = std::make_shared<Caller>(context_);
    error_code error;
    std::ignore = caller->socket.assign(acceptor.local_endpoint().protocol(), fd, error);
    if (error) {
      ::close(fd);
      return false;
    }
    greet(caller);
    return true;
  }

  void greet(const CallerPtr& caller) {
    if (strangers_.size() == kStrangers) drop(CallerPtr(strangers_.front()));
    strangers_.push_back(caller);
    caller->patience.expires_after(kHelloPatience);
    caller->patience.async_wait([this, caller](error_code error) {
      if (!error && !caller->from) drop(caller);
    });
    asio::async_write(caller->socket, asio::buffer(caller->nonce),
                      [this, caller](error_code error, std::size_t) {
                        if (error) drop(caller);
                      });
    asio::async_read(caller->socket, asio::buffer(caller->hello),
                     [this, caller](error_code error, std::size_t) {
                       if (error || !is_hello(caller->hello, token_, caller->nonce))
                         return drop(caller);
                       admit(caller);
                     });
  }

  void admit(const CallerPtr& caller) {
    caller->patience.cancel();
    std::erase(strangers_, caller);
    nodes_.insert(caller);
    ++budget_;
    caller->from.emplace(token_, caller->nonce, caller->hello, SideSender::kNode);
    caller->to.emplace(token_, caller->nonce, caller->hello, SideSender::kHub);
    send(caller, "");  // now it knows that this is a hub of its job
    read_frame(caller);
  }

  void drop(const CallerPtr& caller) {
    error_code ignored;
    std::ignore = caller->socket.close(ignored);
    caller->patience.cancel();
    std::erase(strangers_, caller);
    nodes_.erase(caller);
  }

  void read_frame(const CallerPtr& caller) {
    asio::async_read(caller->socket, asio::buffer(caller->length),
                     [this, caller](error_code error, std::size_t) {
                       const std::size_t rest = SealedFrames::rest_bytes(caller->length);
                       if (error || rest == 0) return drop(caller);
                       caller->bytes.resize(rest);
                       read_rest(caller);
                     });
  }

  void read_rest(const CallerPtr& caller) {
    asio::async_read(caller->socket, asio::buffer(caller->bytes),
                     [this, caller](error_code error, std::size_t) {
                       if (error || !caller->from->take(caller->bytes)) return drop(caller);
                       send_to_all(caller->bytes, caller);
                       read_frame(caller);
                     });
  }

  void send_to_all(const std::string& bytes, const CallerPtr& but) {
    const std::vector<CallerPtr> nodes(nodes_.begin(), nodes_.end());  // send() may drop some
    for (const CallerPtr& node : nodes)
      if (node != but) send(node, bytes);
  }

  void send(const CallerPtr& node, const std::string& bytes) {
    std::optional<SealedFrames>& to = node->to;
    if (!to || node->waiting.size() >= kWaitingFrames) return drop(node);
    node->waiting.push_back(to->make(bytes));
    if (node->waiting.size() == 1) write_first(node);
  }

  void write_first(const CallerPtr& node) {
    asio::async_write(node->socket, asio::buffer(node->waiting.front()),
                      [this, node](error_code error, std::size_t) {
                        if (error) return drop(node);
                        node->waiting.pop_front();
                        if (!node->waiting.empty()) write_first(node);
                      });
  }

  void beat() {
    beat_.expires_after(kBeat);
    beat_.async_wait([this](error_code error) {
      if (error) return;
      send_to_all("", nullptr);
      budget_ = std::min(kBurst, budget_ + kPerSecond);
      beat();
    });
  }

  SideToken token_;
  asio::io_context context_;
  asio::steady_timer beat_;
  std::vector<std::unique_ptr<Door>> doors_;
  std::deque<CallerPtr> strangers_;  ///< the oldest first
  std::set<CallerPtr> nodes_;
  int budget_ = kBurst;  ///< connections of strangers that may be accepted
  std::string addresses_;
  std::string inner_address_;
  std::thread thread_;
};

SideHub::SideHub(const SideToken& token, const std::vector<std::string>& addresses)
    : server_(std::make_unique<Server>(token, addresses)) {}
SideHub::~SideHub() = default;

const std::string& SideHub::addresses() const {
  return server_->addresses();
}

const std::string& SideHub::inner_address() const {
  return server_->inner_address();
}

}  // namespace lockstep
