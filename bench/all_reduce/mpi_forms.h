// The reference for lockstep's all_reduce: MPI_Allreduce of f32 sums over all ranks. Called on the
// thread that owns MPI, by all ranks alike, after MPI was initialized.
#pragma once

#include <cstdint>

namespace lockstep {

/// Seconds of a sum from `send` into `receive`; in place if both are the same. Ranks start
/// together.
double time_mpi_all_reduce(const float* send, float* receive, std::int64_t count);

}  // namespace lockstep
