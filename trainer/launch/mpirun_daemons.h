// mpirun's daemons on the other hosts of a job. Before there are ranks, only mpirun's own
// connections show how far the start has come on each host.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lockstep {

class MpirunDaemons {
 public:
  /// OpenMPI's daemons are a tree of this width: in a larger job not all of them are connected with
  /// mpirun itself.
  static constexpr std::size_t kMostHosts = 64;
  static constexpr double kLookEvery = 0.1;  ///< seconds

  /// `hosts`: names or addresses of the job's hosts. This one is left out: mpirun is its daemon.
  explicit MpirunDaemons(const std::vector<std::string>& hosts);

  /// The hosts besides this one.
  const std::vector<std::string>& hosts() const { return names_; }

  /// Sees which daemons mpirun is connected with. Call it now and then: it looks every kLookEvery
  /// seconds.
  void look(pid_t mpirun, std::int64_t now_ns);

  /// As last seen; also if nothing was.
  bool all_connected() const { return unconnected_.empty(); }
  /// "mpirun's daemon on node2 is not connected", or that all are; "" if nothing was seen.
  std::string describe() const;

 private:
  std::vector<std::string> names_;
  std::vector<std::set<std::string>> addresses_;  ///< of each
  std::vector<std::string> unconnected_;
  std::int64_t looked_ns_ = -1;
};

/// The addresses of the other ends of the TCP connections that a process holds, such as "10.0.0.2".
/// Those of another user's process are not seen.
std::set<std::string> peers_of(pid_t process);

/// "node2 node3", at most eight names and how many more there are.
std::string list_hosts(const std::vector<std::string>& hosts);

}  // namespace lockstep
