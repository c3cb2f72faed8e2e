// The communicator of a job with one rank, started without mpirun: no MPI, no thread.
#pragma once

#include <memory>

#include "core/runtime/communicator.h"

namespace lockstep {

/// Rank 0 of 1. A collective changes no data; its event is marked, in the order of submission, on
/// the thread that marks its `ready`. abort() prints the reason to standard error and ends the
/// process.
std::unique_ptr<Communicator> make_single_communicator();

}  // namespace lockstep
