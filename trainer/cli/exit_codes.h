// The exit codes of `lockstep`: the table that `lockstep --help` and the reference pages print.
#pragma once

#include <span>
#include <string_view>

namespace lockstep {

struct ExitCode {
  int code;
  std::string_view meaning;  ///< a phrase
};

/// Of `sweep`, which is no error: some of its points failed.
inline constexpr int kPointsFailedExit = 8;

/// In ascending order: 0, every ErrorKind, and those of single commands.
std::span<const ExitCode> exit_codes();

}  // namespace lockstep
