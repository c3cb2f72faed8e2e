// Where a machine's limits are kept: a JSON file per kind of machine in the cache folder, which
// hosts may share. Code that needs a limit calls find_limits(), which always returns figures.
#pragma once

#include <string>
#include <string_view>

#include "core/base/settings.h"
#include "core/ir/machine_limits.h"

namespace lockstep {

/// The machine that this process runs on, for kernels of `target`.
MachineKind this_machine(const Target& target);

std::string to_json(const MachineLimits& limits);

/// The inverse. Error kUsage, naming `where`, for text that to_json did not write: damaged, of
/// another format or version, or with figures that no machine can have. Sections may be empty.
MachineLimits parse_limits(std::string_view text, const std::string& where);

/// "~/.cache/lockstep/calibration-0123456789abcdef-2-avx512-amx.json"; empty if the process has no
/// cache folder.
std::string limits_path(const Settings& settings, const MachineKind& machine);

/// Makes the folders of the file. Error kUsage if the file cannot be written; called before
/// anything is measured.
void check_limits_path(const std::string& path);

/// Writes the file whole or not at all. Error kUsage if it cannot be written.
void write_limits(const std::string& path, const MachineLimits& limits);

/// The limits to use.
struct FoundLimits {
  MachineLimits limits;  ///< the default if there is no file that can be used
  std::string
      warning;  ///< why an existing file was not used; empty: it was used, or does not exist
};

/// Reads the limits of `machine` from `path`. A file that is damaged, incomplete or of another
/// machine is not used.
FoundLimits read_limits(const std::string& path, const MachineKind& machine);

/// The same for this machine, at limits_path(), and kernels of `target`.
FoundLimits find_limits(const Settings& settings, const Target& target);

}  // namespace lockstep
