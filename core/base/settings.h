// The process's environment, parsed once into a struct. settings.cpp is the only place that calls
// getenv; a run's own parameters come from its YAML config instead.
#pragma once

#include <string>

namespace lockstep {

struct Settings {
  int debug = 0;                ///< LOCKSTEP_DEBUG: 0..5, see log.h
  int world_rank = 0;           ///< OMPI_COMM_WORLD_RANK; known before MPI is up
  int world_size = 1;           ///< OMPI_COMM_WORLD_SIZE
  bool under_launcher = false;  ///< started by mpirun
};

/// Error kUsage if a variable does not parse.
Settings settings_from_environment();

}  // namespace lockstep
