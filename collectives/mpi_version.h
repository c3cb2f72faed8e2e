// The MPI library that ranks talk through.
#pragma once

#include <string>

namespace lockstep {

/// "Open MPI v4.1.4". Does not initialize MPI.
std::string mpi_version();

}  // namespace lockstep
