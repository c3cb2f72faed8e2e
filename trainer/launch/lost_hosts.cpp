#include "trainer/launch/lost_hosts.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>

namespace lockstep {
namespace {

constexpr const char* kPort = "22";
constexpr int kAnswerMs = 3000;

/// 0 if the address answers, be it by a refusal; else an error number.
int error_of_connecting(const addrinfo& address) {
  const int descriptor = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  int error = ::connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waited{descriptor, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (::poll(&waited, 1, kAnswerMs) <= 0)
      error = ETIMEDOUT;
    else if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = errno;
  }
  ::close(descriptor);
  return error == ECONNREFUSED ? 0 : error;
}

/// "" if the host answers.
std::string describe_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), kPort, &hints, &found); code != 0)
    return fmt::format("the host '{}' has no address ({})", host, ::gai_strerror(code));
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    error = error_of_connecting(*address);
    if (error == 0) break;
  }
  ::freeaddrinfo(found);
  return error == 0 ? std::string()
                    : fmt::format("the host '{}' does not answer ({})", host, std::strerror(error));
}

}  // namespace

std::vector<std::string> silences_of(const std::vector<std::string>& hosts) {
  std::vector<std::future<std::string>> asked;
  asked.reserve(hosts.size());
  for (const std::string& host : hosts)
    asked.push_back(std::async(std::launch::async, describe_host, host));
  std::vector<std::string> out;
  out.reserve(hosts.size());
  for (std::future<std::string>& answer : asked) out.push_back(answer.get());
  return out;
}

std::vector<std::string> describe_lost_hosts(const std::vector<std::string>& hosts) {
  std::vector<std::string> out = silences_of(hosts);
  std::erase(out, "");
  return out;
}

}  // namespace lockstep
