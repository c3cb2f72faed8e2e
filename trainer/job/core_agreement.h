// The ranks of a host divide its cores (trainer/machine/core_share.h).
#pragma once

#include <cstdint>
#include <string>

#include "core/runtime/communicator.h"

namespace lockstep {

struct ChosenThreads {
  int threads = 1;
  /// "auto is 2 (8 cores for 4 ranks)"; "1, but auto would be 2 (2 cores)" if cores are left idle;
  /// empty if the config's number uses them all.
  std::string text = {};
};

/// Called by all ranks, each with its own device.threads, before threads are made. For kAutoThreads
/// the rank gets its share of the cores that it may use. If that is one NUMA node's, the calling
/// thread and those that it starts later run there only.
ChosenThreads agree_on_threads(std::int64_t threads, Communicator& communicator);

}  // namespace lockstep
