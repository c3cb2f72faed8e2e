// Facts about the machine, which `lockstep doctor` checks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Bytes that programs can still allocate without swapping (/proc/meminfo, and the limits of this
/// process's control groups if they are lower); 0 if unknown.
std::uint64_t available_memory();

/// Of the control groups (version 2) that this process is in, from its own up to the root: the
/// least that one still allows; the largest number without a limit. `own` is as /proc/self/cgroup.
std::uint64_t available_in_groups(const std::string& root = "/sys/fs/cgroup",
                                  const std::string& own = "/proc/self/cgroup");

/// Bytes of address space that this process may still take (RLIMIT_AS, ulimit -v); nothing if that
/// is not limited.
std::optional<std::uint64_t> addressable_memory();

/// Bytes of memory that this process has now.
std::int64_t resident_memory();

struct Processor {
  std::string name;
  std::vector<std::string> flags;  ///< names as in /proc/cpuinfo: "avx2", "avx512f", "amx_bf16"
  bool has(const std::string& flag) const;
};
Processor processor();

/// The shared libraries that this process has loaded, as file names with full versions
/// ("libhdf5_serial.so.103.3.0"), sorted.
std::vector<std::string> loaded_libraries();

/// Why a file of `bytes` cannot be written in `folder`; empty if it can.
std::string write_problem(const std::string& folder, std::uint64_t bytes);

}  // namespace lockstep
