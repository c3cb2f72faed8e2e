#include "trainer/launch/mpirun_daemons.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "watch/job_addresses.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListedHosts = 8;
constexpr const char* kEstablished = "01";  // TCP_ESTABLISHED, in hexadecimal

/// An IPv4 address that stands in an IPv6 one is written as the former.
std::string text_of(const in6_addr& address) {
  std::array<char, INET6_ADDRSTRLEN> out{};
  const bool is_v4 = IN6_IS_ADDR_V4MAPPED(&address);
  const void* bytes = is_v4 ? static_cast<const void*>(address.s6_addr + 12) : &address;
  return ::inet_ntop(is_v4 ? AF_INET : AF_INET6, bytes, out.data(), out.size());
}

std::string text_of(const in_addr& address) {
  std::array<char, INET_ADDRSTRLEN> out{};
  return ::inet_ntop(AF_INET, &address, out.data(), out.size());
}

std::set<std::string> addresses_of(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::set<std::string> out;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return out;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family == AF_INET) {
      sockaddr_in address{};
      std::memcpy(&address, entry->ai_addr, sizeof address);
      out.insert(text_of(address.sin_addr));
    } else if (entry->ai_family == AF_INET6) {
      sockaddr_in6 address{};
      std::memcpy(&address, entry->ai_addr, sizeof address);
      out.insert(text_of(address.sin6_addr));
    }
  }
  ::freeaddrinfo(found);
  return out;
}

/// "socket:[123]" of all descriptors.
std::set<std::string> sockets_of(pid_t process) {
  std::set<std::string> out;
  std::error_code error;
  for (fs::directory_iterator entry(fmt::format("/proc/{}/fd", process), error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry->path(), gone).string();
    if (!gone && target.starts_with("socket:")) out.insert(target);
  }
  return out;
}

/// The kernel writes an address as 32-bit words in this machine's order: "0200000A" is 10.0.0.2 on
/// a PC. "" if it is none.
std::string address_of(const std::string& hexadecimal) {
  std::array<std::uint32_t, 4> words{};
  const std::size_t count = hexadecimal.size() / 8;
  if (hexadecimal.size() % 8 != 0 || (count != 1 && count != words.size())) return "";
  for (std::size_t i = 0; i < count; ++i)
    words.at(i) = static_cast<std::uint32_t>(std::stoul(hexadecimal.substr(8 * i, 8), nullptr, 16));
  if (count == 1) return text_of(in_addr{words[0]});
  in6_addr address{};
  std::memcpy(&address, words.data(), sizeof address);
  return text_of(address);
}

}  // namespace

std::set<std::string> peers_of(pid_t process) {
  const std::set<std::string> sockets = sockets_of(process);
  std::set<std::string> out;
  for (const char* table : {"tcp", "tcp6"}) {
    std::ifstream file(fmt::format("/proc/{}/net/{}", process, table));
    std::string line;
    std::getline(file, line);  // the names of the columns
    while (std::getline(file, line)) {
      std::istringstream in(line);
      std::string row, here, peer, state, queues, timer, retransmits, user, timeout, inode;
      if (!(in >> row >> here >> peer >> state >> queues >> timer >> retransmits >> user >>
            timeout >> inode))
        continue;
      if (state != kEstablished || !sockets.contains(fmt::format("socket:[{}]", inode))) continue;
      if (std::string address = address_of(peer.substr(0, peer.find(':'))); !address.empty())
        out.insert(std::move(address));
    }
  }
  return out;
}

std::string list_hosts(const std::vector<std::string>& hosts) {
  const std::size_t listed = std::min(hosts.size(), kListedHosts);
  std::string out = fmt::format(
      "{}", fmt::join(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(listed), " "));
  if (hosts.size() > listed) out += fmt::format(" and {} more", hosts.size() - listed);
  return out;
}

MpirunDaemons::MpirunDaemons(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    if (are_this_host({host})) continue;
    names_.push_back(host);
    addresses_.push_back(addresses_of(host));
  }
}

void MpirunDaemons::look(pid_t mpirun, std::int64_t now_ns) {
  if (names_.empty() || names_.size() > kMostHosts) return;
  if (looked_ns_ >= 0 && static_cast<double>(now_ns - looked_ns_) * 1e-9 < kLookEvery) return;
  looked_ns_ = now_ns;
  const std::set<std::string> peers = peers_of(mpirun);
  unconnected_.clear();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto is_peer = [&](const std::string& address) { return peers.contains(address); };
    if (std::none_of(addresses_[i].begin(), addresses_[i].end(), is_peer))
      unconnected_.push_back(names_[i]);
  }
}

std::string MpirunDaemons::describe() const {
  if (looked_ns_ < 0) return "";
  const bool all = unconnected_.empty();
  const std::vector<std::string>& shown = all ? names_ : unconnected_;
  const bool one = shown.size() == 1;
  return fmt::format("mpirun's {} on {} {} {}connected", one ? "daemon" : "daemons",
                     list_hosts(shown), one ? "is" : "are", all ? "" : "not ");
}

}  // namespace lockstep
