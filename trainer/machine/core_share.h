// device.threads: auto. The cores of a host, divided among the ranks that it runs.
//
// A rank computes on physical cores: a second thread on a core gains little in dense arithmetic. If
// ranks may run on the same processors of several NUMA nodes, and are a multiple of the nodes, each
// gets one node's, so that its memory is near. A core that several ranks may use is divided among
// them; so is the quota of a control group. Each rank gets whole cores, and at least one.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// What a rank may use, as it sees it.
struct RankCores {
  std::vector<int> processors = {};  ///< it may run on, ascending
  std::optional<double> quota = {};  ///< cores' worth of time of its control group
  std::string group = {};            ///< which that is
};

/// Those of this process.
RankCores own_cores();

/// For a message to other ranks. Error kInternal for text that to_text did not write.
std::string to_text(const RankCores& cores);
RankCores parse_rank_cores(const std::string& text);

/// Where a processor (a hardware thread) is.
struct ProcessorPlace {
  int processor = 0;
  int core = 0;  ///< physical
  int node = 0;  ///< NUMA node
};

/// Of this machine. Error kInternal if it does not say.
std::vector<ProcessorPlace> processor_places();

struct CoreShare {
  int threads = 1;
  std::vector<int> processors =
      {};                ///< of one NUMA node, to run on; empty: where it may run already
  std::string why = {};  ///< "2 of 8 cores (4 ranks)", "1 core: a quota of 1.5 cores (2 ranks)"
};

/// The share of rank `place` among those of its host.
CoreShare share_of(std::size_t place, const std::vector<RankCores>& ranks,
                   const std::vector<ProcessorPlace>& places);

}  // namespace lockstep
