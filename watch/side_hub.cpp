#include "watch/side_hub.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/random.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <deque>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "watch/node_frame.h"

namespace lockstep {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kWaitingMessages = 256;  // for one node; a slower one is disconnected
constexpr auto kBeat = std::chrono::seconds(1);

std::shared_ptr<const std::string> framed(const std::string& bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  std::string out(sizeof length, '\0');
  for (std::size_t i = 0; i < sizeof length; ++i) out[i] = static_cast<char>(length >> (8 * i));
  return std::make_shared<const std::string>(out + bytes);
}

bool is_in(const std::string& interfaces, const std::string& name, const asio::ip::address& at) {
  if (interfaces.empty()) return true;
  std::istringstream words(interfaces);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == name) return true;
    error_code bad;
    if (at.is_v4()) {
      const auto network = asio::ip::make_network_v4(word, bad);
      if (!bad && asio::ip::network_v4(at.to_v4(), network.prefix_length()).canonical() ==
                      network.canonical())
        return true;
    } else {
      const auto network = asio::ip::make_network_v6(word, bad);
      if (!bad && asio::ip::network_v6(at.to_v6(), network.prefix_length()).canonical() ==
                      network.canonical())
        return true;
    }
  }
  return false;
}

struct Interface {
  std::string name;
  asio::ip::address address;
  bool loopback;
};

/// IPv4 addresses, then IPv6 addresses; none that are valid on one link only.
std::vector<Interface> list_interfaces() {
  std::vector<Interface> out;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return out;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
      if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != family) continue;
      if ((at->ifa_flags & IFF_UP) == 0) continue;
      asio::ip::address address;
      if (family == AF_INET) {
        const auto* v4 = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
        address = asio::ip::address_v4(ntohl(v4->sin_addr.s_addr));
      } else {
        asio::ip::address_v6::bytes_type bytes;
        const auto* v6 = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr);
        std::copy_n(v6->sin6_addr.s6_addr, bytes.size(), bytes.begin());
        address = asio::ip::address_v6(bytes);
        if (address.to_v6().is_link_local()) continue;
      }
      out.push_back({at->ifa_name, address, (at->ifa_flags & IFF_LOOPBACK) != 0});
    }
  }
  ::freeifaddrs(first);
  return out;
}

}  // namespace

SideToken make_side_token() {
  SideToken out{};
  if (::getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size()))
    raise_errno(ErrorKind::kInternal, "cannot get random numbers");
  return out;
}

std::string to_hex(const SideToken& token) {
  std::string out;
  for (const std::uint8_t byte : token) out += fmt::format("{:02x}", byte);
  return out;
}

SideToken parse_side_token(const std::string& hex) {
  SideToken out{};
  const bool digits = hex.find_first_not_of("0123456789abcdef") == std::string::npos;
  LS_USER_CHECK(digits && hex.size() == 2 * out.size(),
                "LOCKSTEP_WATCH_TOKEN must be 32 hexadecimal digits");
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return out;
}

/// Everything runs on one thread, which runs the io_context.
class SideHub::Server {
 public:
  explicit Server(const SideToken& token) : token_(token), acceptor_(context_), timer_(context_) {
    error_code error;
    listen(tcp::v6(), error);  // IPv4 as well
    has_v6_ = !error;
    if (error) listen(tcp::v4(), error);
    if (error) raise(ErrorKind::kPeer, "the watch cannot listen: {}", error.message());
    port_ = acceptor_.local_endpoint().port();
    accept();
    beat();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Server() {
    context_.stop();
    thread_.join();
  }

  std::uint16_t port() const { return port_; }
  bool has_v6() const { return has_v6_; }

 private:
  struct Node {
    explicit Node(tcp::socket s) : socket(std::move(s)) {}
    tcp::socket socket;
    SideToken token{};
    std::array<unsigned char, 4> length{};
    std::string bytes;
    std::deque<std::shared_ptr<const std::string>> waiting;
    bool known = false;  ///< it sent the right token
  };
  using NodePtr = std::shared_ptr<Node>;

  void listen(const tcp& protocol, error_code& error) {
    error_code ignored;
    // NOLINTBEGIN(bugprone-unused-return-value): they return `error` and `ignored` once more
    acceptor_.close(ignored);
    acceptor_.open(protocol, error);
    if (!error && protocol == tcp::v6()) acceptor_.set_option(asio::ip::v6_only(false), error);
    if (!error) acceptor_.bind({protocol, 0}, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    // NOLINTEND(bugprone-unused-return-value)
  }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (!error) {
        const auto node = std::make_shared<Node>(std::move(socket));
        nodes_.insert(node);
        read_token(node);
      }
      accept();
    });
  }

  void drop(const NodePtr& node) {
    error_code ignored;
    std::ignore = node->socket.close(ignored);
    nodes_.erase(node);
  }

  void read_token(const NodePtr& node) {
    asio::async_read(node->socket, asio::buffer(node->token),
                     [this, node](error_code error, std::size_t) {
                       if (error || node->token != token_) return drop(node);
                       node->known = true;
                       read_message(node);
                     });
  }

  void read_message(const NodePtr& node) {
    asio::async_read(node->socket, asio::buffer(node->length),
                     [this, node](error_code error, std::size_t) {
                       std::uint32_t length = 0;
                       for (std::size_t i = 0; i < 4; ++i)
                         length |= std::uint32_t{node->length[i]} << (8 * i);
                       if (error || length > NodeFrame::kBytes) return drop(node);
                       node->bytes.resize(length);
                       read_body(node);
                     });
  }

  void read_body(const NodePtr& node) {
    asio::async_read(node->socket, asio::buffer(node->bytes),
                     [this, node](error_code error, std::size_t) {
                       if (error) return drop(node);
                       send_to_all(framed(node->bytes), node);
                       read_message(node);
                     });
  }

  void send_to_all(const std::shared_ptr<const std::string>& message, const NodePtr& but) {
    const std::vector<NodePtr> nodes(nodes_.begin(), nodes_.end());  // send() may drop some
    for (const NodePtr& node : nodes)
      if (node != but && node->known) send(node, message);
  }

  void send(const NodePtr& node, const std::shared_ptr<const std::string>& message) {
    if (node->waiting.size() >= kWaitingMessages) return drop(node);
    node->waiting.push_back(message);
    if (node->waiting.size() == 1) write_first(node);
  }

  void write_first(const NodePtr& node) {
    asio::async_write(node->socket, asio::buffer(*node->waiting.front()),
                      [this, node](error_code error, std::size_t) {
                        if (error) return drop(node);
                        node->waiting.pop_front();
                        if (!node->waiting.empty()) write_first(node);
                      });
  }

  void beat() {
    timer_.expires_after(kBeat);
    timer_.async_wait([this](error_code error) {
      if (error) return;
      send_to_all(framed(""), nullptr);
      beat();
    });
  }

  SideToken token_;
  asio::io_context context_;
  tcp::acceptor acceptor_;
  asio::steady_timer timer_;
  std::set<NodePtr> nodes_;
  std::uint16_t port_ = 0;
  bool has_v6_ = false;
  std::thread thread_;
};

SideHub::SideHub(const SideToken& token) : server_(std::make_unique<Server>(token)) {}
SideHub::~SideHub() = default;

std::string SideHub::addresses(const std::string& interfaces) const {
  std::string outer;
  std::string inner;
  for (const Interface& interface : list_interfaces()) {
    if (!is_in(interfaces, interface.name, interface.address)) continue;
    const bool v6 = interface.address.is_v6();
    if (v6 && !server_->has_v6()) continue;
    std::string& out = interface.loopback ? inner : outer;
    out += fmt::format(fmt::runtime(v6 ? "{}[{}]:{}" : "{}{}:{}"), out.empty() ? "" : ",",
                       interface.address.to_string(), server_->port());
  }
  return outer.empty() ? inner : outer;
}

}  // namespace lockstep
