// The process's environment, parsed once into a struct. settings.cpp is the only place that calls
// getenv; a run's own parameters come from its YAML config instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// The most that kernels may use of the processor's vector units; auto: all that it has. avx512 is
/// without AMX.
enum class MaxIsa : std::uint8_t { kAuto, kAvx2, kAvx512 };

/// The vector units that a processor has, each kind with those before it.
enum class VectorUnits : std::uint8_t { kAvx2, kAvx512, kAvx512Bf16, kAmx };

struct Settings {
  int debug = 0;                   ///< LOCKSTEP_DEBUG: 0..5, see log.h
  std::string dump_folder;         ///< LOCKSTEP_DUMP_DIR: of programs as text; empty: nowhere
  int world_rank = 0;              ///< as the launcher says: known before MPI is up
  int world_size = 1;              ///< likewise
  bool under_launcher = false;     ///< started by mpirun, or by srun as one task of a job step
  MaxIsa max_isa = MaxIsa::kAuto;  ///< LOCKSTEP_MAX_ISA: auto, avx2 or avx512; for tests
  /// LOCKSTEP_PRETEND_ISA: avx2, avx512, avx512_bf16 or amx: what this rank tells the others that
  /// its processor has; for tests of jobs on unlike processors.
  std::optional<VectorUnits> pretended_units;
  std::string cache_home;      ///< $XDG_CACHE_HOME, or ~/.cache; empty if there is neither
  std::string watch_address;   ///< LOCKSTEP_WATCH_ADDRESS: of the launcher's hub, see watch/
  std::string watch_token;     ///< LOCKSTEP_WATCH_TOKEN: that it wants to hear
  std::string tcp_interfaces;  ///< OMPI_MCA_btl_tcp_if_include: that reach other nodes
  /// The variables that change what is computed, with their text, "" where they are not set: those
  /// of lockstep and those that its libraries read. Ranks of one job must have the same.
  std::vector<std::pair<std::string, std::string>> numerics;
};

/// Error kUsage if a variable does not parse.
Settings settings_from_environment();

}  // namespace lockstep
