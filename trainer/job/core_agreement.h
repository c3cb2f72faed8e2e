// The ranks of a host divide its cores (trainer/machine/core_share.h).
#pragma once

#include <cstdint>

#include "core/base/log.h"
#include "core/runtime/communicator.h"

namespace lockstep {

/// Called by all ranks, each with its own device.threads, before threads are made. Returns this
/// rank's number of threads: for kAutoThreads its share of the cores that it may use. If that is
/// one NUMA node's, the calling thread and those that it starts later run there only.
int agree_on_threads(std::int64_t threads, Communicator& communicator, Log& log);

}  // namespace lockstep
