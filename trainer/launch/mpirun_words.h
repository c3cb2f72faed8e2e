// The command line that `lockstep launch` starts: mpirun with the flags that lockstep needs.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct Host {
  std::string name;
  int ranks;
};

/// "a:4,b:2", or "a,b", in which case `ranks` are distributed evenly, the first hosts getting the
/// remainder. Error kUsage for counts that are not numbers, are given for some hosts only, or are
/// fewer than `ranks`.
std::vector<Host> parse_hosts(const std::string& text, int ranks);

/// The names in a hostfile of mpirun: the first word of each line, without a user ("me@node1") and
/// without what is excluded ("^node1"). Error kUsage if the file cannot be read.
std::vector<std::string> hosts_of_file(const std::string& path);

/// The description of a job for mpirun.
struct MpirunOptions {
  int ranks = 1;
  std::vector<Host> hosts;  ///< empty: those of the allocation in which mpirun runs, or this host
  std::string hostfile;     ///< in mpirun's own form; empty for none
  std::vector<std::string>
      variables;  ///< environment variables that are passed on to all ranks, by name
  bool as_root = false;
};

/// {"mpirun", ..., program...}
std::vector<std::string> mpirun_words(const MpirunOptions& options,
                                      const std::vector<std::string>& program);

}  // namespace lockstep
