#include "watch/peers.h"

#include <dirent.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

/// The visible processes of this machine.
std::vector<std::int64_t> list_processes() {
  std::vector<std::int64_t> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir("/proc"), ::closedir);
  if (entries == nullptr) return out;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    std::int64_t pid = 0;
    const auto result = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (result.ec == std::errc{} && result.ptr == name.data() + name.size()) out.push_back(pid);
  }
  return out;
}

int open_death_descriptor(std::int64_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
}

/// A process number can be reused; a descriptor always means the old process.
bool is_dead(int death_descriptor) {
  pollfd death{death_descriptor, POLLIN, 0};
  return death_descriptor >= 0 && ::poll(&death, 1, 0) > 0;
}

}  // namespace

Peers::Peers(JobIdentity own) : own_(std::move(own)), host_(host_name()) {}

Peers::~Peers() {
  for (const auto& [rank, peer] : peers_)
    if (peer.death >= 0) ::close(peer.death);
}

bool Peers::all_found() const {
  const int expected = own_.local_size > 0 ? own_.local_size : own_.size;
  if (static_cast<int>(peers_.size()) + 1 < expected) return false;
  for (const auto& [rank, peer] : peers_)
    if (!peer.page || peer.gone) return false;
  return true;
}

void Peers::look() {
  for (const std::int64_t pid : list_processes())
    if (pid != ::getpid()) consider(pid);
}

// A rank may have several processes: mpirun may have started a script, and lockstep is its child,
// perhaps several times. The process with a page is the rank; a new one replaces one that has
// ended.
void Peers::consider(std::int64_t pid) {
  const auto identity = job_identity_of(pid);
  if (!identity || identity->job != own_.job || identity->rank == own_.rank) return;
  const auto found = peers_.find(identity->rank);
  const bool known = found != peers_.end();
  if (known && found->second.page && !found->second.gone) return;
  MappedPages page = open_pages_of(pid);
  if (known && !page) return;
  Peer& peer = peers_[identity->rank];
  if (peer.pid != pid) {
    if (peer.death >= 0) ::close(peer.death);
    peer.death = open_death_descriptor(pid);
  }
  peer.pid = pid;
  peer.page = std::move(page);
  peer.gone = false;
}

std::vector<RankReport> Peers::read() {
  std::vector<RankReport> out;
  for (auto& [rank, peer] : peers_) {
    // The state first: then the page of a dead process holds its last report.
    const ProcessState seen = process_state(peer.pid);
    peer.gone = peer.gone || seen == ProcessState::kGone || is_dead(peer.death);
    const ProcessState state = peer.gone ? ProcessState::kGone : seen;
    // A process that ended before it had a page was a script, or the launcher's own.
    if (peer.gone && !peer.page) continue;
    RankReport report = peer.page ? read_page(peer.page.activity()) : RankReport{};
    if (peer.page) {
      report.verdict = peer.page.watch().read_verdict();
      report.sees_other_nodes = peer.page.watch().sees_other_nodes.load() != 0;
    }
    report.rank = rank;
    report.host = host_;
    report.pid = peer.pid;
    report.state = state;
    out.push_back(std::move(report));
  }
  return out;
}

std::vector<int> Peers::death_descriptors() const {
  std::vector<int> out;
  for (const auto& [rank, peer] : peers_)
    if (peer.death >= 0 && !peer.gone) out.push_back(peer.death);
  return out;
}

}  // namespace lockstep
