// Ranks started by mpirun. The communication thread of the communicator owns MPI: it initializes it
// (MPI_THREAD_FUNNELED), makes every call, and finalizes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collectives/shared_arena.h"
#include "core/runtime/communicator.h"

namespace lockstep {

struct MpiOptions {
  /// Longer transfers are split. MPI counts are 32-bit, so at most 2^31 - 1.
  std::int64_t max_message_bytes = std::int64_t{1} << 30;
  SharedMemoryUse shared_memory = SharedMemoryUse::kIfPossible;
  /// Number of ranks that the launcher started, as it reports; 0: unknown. If MPI does not
  /// recognize its launcher, it makes every process a job of its own.
  int expected_ranks = 0;
  bool fixed_order = true;  ///< see ParticipantOptions
  int busy_threads = 1;     ///< of each rank; see QueueOptions
};

/// The communicator of this process's rank; at most one per process, ever (error kUsage). finish()
/// finalizes MPI together with the other ranks: a rank that finishes while another still submits is
/// a mismatch, an error kPeer on both. If it is destroyed without finish(), for example by an
/// exception, MPI is not finalized. The process must then end with a non-zero code; mpirun sees
/// that, ends the other ranks and returns the code.
///
/// abort() prints the reason to standard error and exits; mpirun ends the job with that code. Error
/// kUsage if MPI has another number of ranks than expected. Any failed MPI call is an error kPeer
/// that names the call and MPI's reason.
std::unique_ptr<Communicator> make_mpi_communicator(const MpiOptions& options = {});

/// The version of the library: "Open MPI v4.1.4". Does not initialize MPI.
std::string mpi_version();

}  // namespace lockstep
