#include "trainer/launch/mpirun_daemons.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
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
/// a PC. An IPv4 address in an IPv6 one is written as the former. "" if it is none.
std::string address_of(const std::string& hexadecimal) {
  in6_addr address{};
  const std::size_t size = hexadecimal.size() / 2;
  if (size != sizeof(in_addr) && size != sizeof address) return "";
  for (std::size_t at = 0; at < size; at += sizeof(std::uint32_t)) {
    const auto word =
        static_cast<std::uint32_t>(std::stoul(hexadecimal.substr(2 * at, 8), nullptr, 16));
    std::memcpy(address.s6_addr + at, &word, sizeof word);
  }
  const bool is_mapped = size == sizeof address && IN6_IS_ADDR_V4MAPPED(&address);
  const bool is_v4 = size == sizeof(in_addr) || is_mapped;
  std::array<char, INET6_ADDRSTRLEN> out{};
  return ::inet_ntop(is_v4 ? AF_INET : AF_INET6, address.s6_addr + (is_mapped ? 12 : 0), out.data(),
                     out.size());
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
