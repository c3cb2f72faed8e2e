#include "trainer/calibrate/sockets.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

using boost::asio::ip::tcp;
using MonotonicClock = std::chrono::steady_clock;

constexpr std::size_t kMessage = 64 << 10;
constexpr int kBuffer = 4 * kMessage;  // of a socket: a message fits, so that no write waits

/// Each end sends a message, then receives one, as an all-reduce of two nodes does.
class End {
 public:
  explicit End(tcp::socket& socket) : socket_(socket) {
    socket_.set_option(tcp::socket::send_buffer_size(kBuffer));
    socket_.set_option(tcp::socket::receive_buffer_size(kBuffer));
  }

  /// Whether the other end goes on.
  bool exchange(bool goes_on) {
    sent_[0] = goes_on ? 1 : 0;
    boost::asio::write(socket_, boost::asio::buffer(sent_));
    boost::asio::read(socket_, boost::asio::buffer(received_));
    return received_[0] != 0;
  }

 private:
  tcp::socket& socket_;
  std::vector<char> sent_ = std::vector<char>(kMessage), received_ = std::vector<char>(kMessage);
};

}  // namespace

double measure_sockets(double seconds) {
  try {
    boost::asio::io_context context;
    tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
    tcp::socket first(context), second(context);
    first.connect(acceptor.local_endpoint());
    acceptor.accept(second);
    std::jthread other([&] {
      End end(second);
      while (end.exchange(true)) continue;
    });
    End end(first);
    const auto begin = MonotonicClock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(MonotonicClock::now() - begin).count();
    };
    double bytes = 0;
    while (elapsed() < seconds) {
      end.exchange(true);
      bytes += kMessage;
    }
    const double rate = bytes / elapsed();
    end.exchange(false);
    return rate;
  } catch (const boost::system::system_error&) {
    return 0;
  }
}

}  // namespace lockstep
