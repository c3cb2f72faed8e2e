#include "watch/job_addresses.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

namespace lockstep {
namespace {

namespace ip = boost::asio::ip;
using boost::system::error_code;

bool is_in(const std::string& interfaces, const std::string& name, const ip::address& at) {
  std::istringstream words(interfaces);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == name) return true;
    error_code bad;
    if (at.is_v4()) {
      const auto network = ip::make_network_v4(word, bad);
      if (!bad &&
          ip::network_v4(at.to_v4(), network.prefix_length()).canonical() == network.canonical())
        return true;
    } else {
      const auto network = ip::make_network_v6(word, bad);
      if (!bad &&
          ip::network_v6(at.to_v6(), network.prefix_length()).canonical() == network.canonical())
        return true;
    }
  }
  return false;
}

ip::address address_of(const sockaddr* at) {
  if (at->sa_family == AF_INET)
    return ip::address_v4(ntohl(reinterpret_cast<const sockaddr_in*>(at)->sin_addr.s_addr));
  ip::address_v6::bytes_type bytes;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(at);
  std::copy_n(v6->sin6_addr.s6_addr, bytes.size(), bytes.begin());
  return ip::address_v6(bytes);
}

struct Interface {
  std::string name;
  ip::address address;
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
      const ip::address address = address_of(at->ifa_addr);
      if (address.is_v6() && address.to_v6().is_link_local()) continue;
      out.push_back({at->ifa_name, address});
    }
  }
  ::freeifaddrs(first);
  return out;
}

using Resolved = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Its addresses; null if the name is not known.
Resolved resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* out = nullptr;
  if (::getaddrinfo(host.c_str(), "9", &hints, &out) != 0) out = nullptr;
  return {out, ::freeaddrinfo};
}

/// The address from which this host sends to that one. Nothing is sent.
std::optional<ip::address> source_for(const addrinfo& to) {
  const int fd = ::socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  sockaddr_storage from{};
  auto* address = reinterpret_cast<sockaddr*>(&from);
  socklen_t size = sizeof from;
  const bool found =
      ::connect(fd, to.ai_addr, to.ai_addrlen) == 0 && ::getsockname(fd, address, &size) == 0;
  ::close(fd);
  if (!found) return std::nullopt;
  return address_of(address);
}

/// Those from which this host sends to the others; nothing if one of them is not found.
std::optional<std::set<ip::address>> sources_for(const std::vector<std::string>& hosts) {
  std::set<ip::address> out;
  for (const std::string& host : hosts) {
    bool found = false;
    const Resolved resolved = resolve(host);
    for (const addrinfo* at = resolved.get(); at != nullptr; at = at->ai_next) {
      const auto source = source_for(*at);
      found = found || source;
      const bool is_here = source && (source->is_loopback() || *source == address_of(at->ai_addr));
      if (source && !is_here) out.insert(*source);
    }
    if (!found) return std::nullopt;
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

}  // namespace

std::set<std::string> addresses_of(const std::string& host) {
  std::set<std::string> out;
  const Resolved found = resolve(host);
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next)
    if (at->ai_family == AF_INET || at->ai_family == AF_INET6)
      out.insert(address_of(at->ai_addr).to_string());
  return out;
}

std::vector<std::string> job_addresses(const std::string& interfaces,
                                       const std::vector<std::string>& hosts) {
  std::optional<std::set<ip::address>> sources;
  if (interfaces.empty() && !hosts.empty()) sources = sources_for(hosts);
  std::vector<std::string> out;
  for (const auto& [name, address] : list_interfaces()) {
    const bool is_of_job = !interfaces.empty() ? is_in(interfaces, name, address)
                           : sources           ? sources->contains(address)
                                               : !address.is_loopback();
    if (is_of_job) out.push_back(address.to_string());
  }
  return out;
}

bool are_this_host(const std::vector<std::string>& hosts) {
  const std::vector<Interface> own = list_interfaces();
  return std::ranges::all_of(hosts, [&](const std::string& host) {
    const Resolved resolved = resolve(host);
    if (resolved == nullptr) return false;
    const ip::address address = address_of(resolved->ai_addr);
    return address.is_loopback() || std::ranges::any_of(own, [&](const Interface& interface) {
             return interface.address == address;
           });
  });
}

}  // namespace lockstep
