#include "watch/side_link.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <chrono>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <tuple>
#include <utility>

#include "core/base/clock.h"

namespace lockstep {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kConnectPatience = std::chrono::seconds(3);
constexpr auto kPause = std::chrono::milliseconds(500);  // between attempts
constexpr std::size_t kHeard = 4096;                     // messages that wait to be taken
constexpr auto kLastWord = std::chrono::milliseconds(200);

std::vector<tcp::endpoint> parse_endpoints(const std::string& list) {
  std::vector<tcp::endpoint> out;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t colon = word.rfind(':');
    if (colon == std::string::npos) continue;
    error_code bad;
    const bool bracketed = word.starts_with('[') && colon >= 2;
    const auto address =
        asio::ip::make_address(bracketed ? word.substr(1, colon - 2) : word.substr(0, colon), bad);
    std::uint16_t port = 0;
    const char* end = word.data() + word.size();
    const auto result = std::from_chars(word.data() + colon + 1, end, port);
    if (!bad && result.ec == std::errc{} && result.ptr == end) out.emplace_back(address, port);
  }
  return out;
}

}  // namespace

/// Everything but the lists below is used by one thread, which runs the io_context.
class SideLink::Client {
 public:
  Client(const std::vector<std::string>& hubs, const SideToken& token)
      : token_(token), heard_ns_(clock_.now_ns()) {
    for (const std::string& hub : hubs) {
      lines_.push_back(std::make_unique<Line>(context_, parse_endpoints(hub)));
      if (!lines_.back()->endpoints.empty()) connect(*lines_.back());
    }
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Client() {
    asio::post(context_, [this] {
      last_word_.expires_after(kLastWord);
      last_word_.async_wait([this](error_code) { context_.stop(); });
      ending_ = true;
      stop_if_all_is_said();
    });
    thread_.join();
  }

  void publish(std::string bytes) {
    asio::post(context_, [this, bytes = std::move(bytes)] {
      for (const auto& line : lines_) send(*line, bytes);
    });
  }

  std::vector<std::string> take_heard() {
    const std::lock_guard lock(mutex_);
    return std::exchange(heard_, {});
  }

  bool was_connected() const { return was_connected_; }
  double silence() const { return seconds_since(clock_, heard_ns_); }

 private:
  struct Line {
    Line(asio::io_context& context, std::vector<tcp::endpoint> e)
        : endpoints(std::move(e)), socket(context), timer(context) {}
    std::vector<tcp::endpoint> endpoints;
    std::size_t next = 0;
    tcp::socket socket;
    asio::steady_timer timer;
    std::uint64_t attempt = 0;  ///< operations of an older one are over
    bool connected = false;
    bool sending = false;
    SideNonce nonce{};  ///< of the hub
    std::string hello;
    std::optional<SealedFrames> from;  ///< of the connection
    std::optional<SealedFrames> to;
    std::array<unsigned char, SealedFrames::kLengthBytes> length{};
    std::string bytes;
    std::string out;
    std::string waiting;  ///< the newest frame, which replaces older ones
  };

  /// Whether an operation that began in `attempt` is over, so that its callback no longer matters.
  static bool is_over(const Line& line, std::uint64_t attempt) { return line.attempt != attempt; }

  void stop_if_all_is_said() {
    const auto has_more = [](const auto& line) { return line->connected && line->sending; };
    if (ending_ && std::ranges::none_of(lines_, has_more)) context_.stop();
  }

  void connect(Line& line) {
    const std::uint64_t attempt = ++line.attempt;
    line.connected = line.sending = false;
    error_code ignored;
    std::ignore = line.socket.close(ignored);
    const tcp::endpoint to = line.endpoints[line.next++ % line.endpoints.size()];
    line.timer.expires_after(kConnectPatience);
    line.timer.async_wait([this, &line, attempt](error_code error) {
      if (!error && !is_over(line, attempt) && !line.connected) retry(line);
    });
    std::ignore =
        line.socket.assign(to.protocol(), open_side_socket(to.address().is_v6()), ignored);
    if (ignored) return retry(line);
    line.socket.async_connect(to, [this, &line, attempt](error_code error) {
      if (is_over(line, attempt)) return;
      if (error) return retry(line);
      read_nonce(line, attempt);
    });
  }

  void read_nonce(Line& line, std::uint64_t attempt) {
    asio::async_read(line.socket, asio::buffer(line.nonce),
                     [this, &line, attempt](error_code error, std::size_t) {
                       if (is_over(line, attempt)) return;
                       if (error) return retry(line);
                       say_hello(line, attempt);
                     });
  }

  void say_hello(Line& line, std::uint64_t attempt) {
    line.hello = make_hello(token_, line.nonce, make_side_nonce());
    line.from.emplace(token_, line.nonce, line.hello, SideSender::kHub);
    line.to.emplace(token_, line.nonce, line.hello, SideSender::kNode);
    line.connected = true;
    line.timer.cancel();
    line.sending = true;
    asio::async_write(line.socket, asio::buffer(line.hello),
                      [this, &line, attempt](error_code error, std::size_t) {
                        if (is_over(line, attempt)) return;
                        if (error) return retry(line);
                        line.sending = false;
                        send_waiting(line);
                      });
    read_frame(line, attempt);
  }

  void retry(Line& line) {
    const std::uint64_t attempt = ++line.attempt;
    line.connected = false;
    error_code ignored;
    std::ignore = line.socket.close(ignored);
    line.timer.expires_after(kPause);
    line.timer.async_wait([this, &line, attempt](error_code error) {
      if (!error && !is_over(line, attempt)) connect(line);
    });
  }

  void read_frame(Line& line, std::uint64_t attempt) {
    asio::async_read(line.socket, asio::buffer(line.length),
                     [this, &line, attempt](error_code error, std::size_t) {
                       if (is_over(line, attempt)) return;
                       const std::size_t rest = SealedFrames::rest_bytes(line.length);
                       if (error || rest == 0) return retry(line);
                       line.bytes.resize(rest);
                       read_rest(line, attempt);
                     });
  }

  void read_rest(Line& line, std::uint64_t attempt) {
    asio::async_read(line.socket, asio::buffer(line.bytes),
                     [this, &line, attempt](error_code error, std::size_t) {
                       if (is_over(line, attempt)) return;
                       if (error || !line.from->take(line.bytes)) return retry(line);
                       heard_ns_ = clock_.now_ns();
                       was_connected_ = true;
                       if (!line.bytes.empty()) keep(line.bytes);
                       read_frame(line, attempt);
                     });
  }

  void keep(const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    if (heard_.size() < kHeard) heard_.push_back(bytes);
  }

  void send(Line& line, const std::string& bytes) {
    if (!line.connected || line.sending || !line.to) {
      line.waiting = bytes;
      return;
    }
    line.out = line.to->make(bytes);
    line.sending = true;
    const std::uint64_t attempt = line.attempt;
    asio::async_write(line.socket, asio::buffer(line.out),
                      [this, &line, attempt](error_code error, std::size_t) {
                        if (is_over(line, attempt)) return;
                        if (error) return retry(line);
                        line.sending = false;
                        send_waiting(line);
                      });
  }

  void send_waiting(Line& line) {
    if (!line.waiting.empty()) return send(line, std::exchange(line.waiting, {}));
    stop_if_all_is_said();
  }

  SideToken token_;
  SteadyClock clock_;
  std::atomic<std::int64_t> heard_ns_;
  std::atomic<bool> was_connected_{false};
  std::mutex mutex_;
  std::vector<std::string> heard_;  ///< guarded by mutex_
  asio::io_context context_;
  std::vector<std::unique_ptr<Line>> lines_;
  asio::steady_timer last_word_{context_};
  bool ending_ = false;
  std::thread thread_;
};

SideLink::SideLink(const std::vector<std::string>& hubs, const SideToken& token)
    : client_(std::make_unique<Client>(hubs, token)) {}
SideLink::~SideLink() = default;

void SideLink::publish(std::string bytes) {
  client_->publish(std::move(bytes));
}

std::vector<std::string> SideLink::take_heard() {
  return client_->take_heard();
}

bool SideLink::was_connected() const {
  return client_->was_connected();
}

double SideLink::silence() const {
  return client_->silence();
}

}  // namespace lockstep
