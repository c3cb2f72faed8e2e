// The other ranks of the job on this node: found in /proc by the environment that the launcher set,
// and observed through their pages and the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "watch/job_identity.h"
#include "watch/page_file.h"
#include "watch/report.h"

namespace lockstep {

class Peers {
 public:
  /// `own`: of this process, which is not one of its peers.
  explicit Peers(JobIdentity own);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Whether every rank of this node was found, with its page.
  bool all_found() const;
  /// Searches for the missing ones; reads all of /proc, which takes some milliseconds.
  void look();

  /// The state of each peer, now or when it died; by rank.
  std::vector<RankReport> read();
  /// Descriptors that become readable when a peer dies.
  std::vector<int> death_descriptors() const;

 private:
  struct Peer {
    std::int64_t pid = 0;
    MappedPages page;
    int death = -1;  ///< a pidfd, -1 if there is none
    bool gone = false;
  };
  void consider(std::int64_t pid);

  JobIdentity own_;
  std::string host_;
  std::map<int, Peer> peers_;  ///< by rank
};

}  // namespace lockstep
