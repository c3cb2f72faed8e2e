// The command line that `lockstep launch` starts: mpirun with the flags that lockstep needs.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct Host {
  std::string name;
  int ranks;
};

/// "a:4,b:2" or "a,b", in which case `ranks` are spread evenly, the first hosts getting what is
/// left over. Error kUsage for counts that are no numbers, stand on some hosts only, or are fewer
/// than `ranks`.
std::vector<Host> parse_hosts(const std::string& text, int ranks);

/// A job as mpirun is to see it.
struct MpirunOptions {
  int ranks = 1;
  std::vector<Host> hosts;  ///< empty: those of the allocation mpirun finds itself in, or this one
  std::string hostfile;     ///< in mpirun's own form; empty for none
  std::vector<std::string> variables;  ///< of the environment, handed on to all ranks by name
  bool as_root = false;
};

/// {"mpirun", ..., program...}
std::vector<std::string> mpirun_words(const MpirunOptions& options,
                                      const std::vector<std::string>& program);

}  // namespace lockstep
