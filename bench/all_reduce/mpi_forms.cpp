#include "bench/all_reduce/mpi_forms.h"

#include <mpi.h>

#include "core/base/error.h"

namespace lockstep {
namespace {

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) raise(ErrorKind::kPeer, "{} failed with code {}", call, code);
}

}  // namespace

double time_mpi_all_reduce(const float* send, float* receive, std::int64_t count) {
  const void* from = send == receive ? MPI_IN_PLACE : send;
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  const double begin = MPI_Wtime();
  check(MPI_Allreduce(from, receive, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
        "MPI_Allreduce");
  return MPI_Wtime() - begin;
}

}  // namespace lockstep
