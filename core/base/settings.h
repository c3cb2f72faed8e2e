// The process's environment, parsed once into a struct. Only settings.cpp calls getenv; the
// parameters of a run come from its YAML config instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// The best vector units of the processor that kernels may use; auto: all that it has. avx512
/// excludes AMX.
enum class MaxIsa : std::uint8_t {
  kAuto,    ///< all that the processor has
  kAvx2,    ///< AVX2 and FMA
  kAvx512,  ///< AVX-512, without AMX
};

/// The vector units of a processor; each kind includes those before it.
enum class VectorUnits : std::uint8_t {
  kAvx2,        ///< AVX2 and FMA
  kAvx512,      ///< and AVX-512
  kAvx512Bf16,  ///< and its dot products of bf16
  kAmx,         ///< and tiles of AMX, for bf16
};

/// The environment of a process, see settings_from_environment().
struct Settings {
  int debug = 0;                   ///< LOCKSTEP_DEBUG: 0..5, see log.h
  std::string dump_folder;         ///< LOCKSTEP_DUMP_DIR: of programs as text; empty: nowhere
  int world_rank = 0;              ///< from the launcher: known before MPI_Init
  int world_size = 1;              ///< likewise
  bool under_launcher = false;     ///< started by mpirun, or by srun as one task of a job step
  bool in_allocation = false;      ///< of a batch system: mpirun may find several hosts there
  MaxIsa max_isa = MaxIsa::kAuto;  ///< LOCKSTEP_MAX_ISA: auto, avx2 or avx512; for tests
  /// LOCKSTEP_PRETEND_ISA: avx2, avx512, avx512_bf16 or amx: the units that this rank reports to
  /// the other ranks as its own; for tests of jobs with different processors.
  std::optional<VectorUnits> pretended_units;
  std::string cache_home;      ///< $XDG_CACHE_HOME, or ~/.cache; empty if there is neither
  std::string watch_address;   ///< LOCKSTEP_WATCH_ADDRESS: of the launcher's hub, see watch/
  std::string watch_token;     ///< LOCKSTEP_WATCH_TOKEN: that the hub requires
  std::string tcp_interfaces;  ///< OMPI_MCA_btl_tcp_if_include: they reach other nodes
  /// The batch job of Slurm in which this process runs, as scontrol calls it: "7", or "7_2" of a
  /// job array; empty: none.
  std::string slurm_job;
  int slurm_restarts = 0;   ///< SLURM_RESTART_COUNT: how often that job was requeued before
  std::string slurm_nodes;  ///< SLURM_JOB_NODELIST
  /// The variables that can change results (those of lockstep and those that its libraries read)
  /// with their text, "" if not set. They must be the same on all ranks of a job.
  std::vector<std::pair<std::string, std::string>> numerics;
};

/// $TMPDIR, or /tmp.
std::string temporary_folder();
/// The same. Error kUsage that names it if this process can make no files there.
std::string usable_temporary_folder();

/// Error kUsage if a variable does not parse.
Settings settings_from_environment();

}  // namespace lockstep
