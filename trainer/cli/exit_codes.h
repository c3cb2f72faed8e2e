// The exit codes of `lockstep`: the table that `lockstep --help` and the reference pages print.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace lockstep {

struct ExitCode {
  int code;
  std::string_view meaning;  ///< a phrase
};

/// Of `sweep`, which is no error: some of its points failed.
inline constexpr int kPointsFailedExit = 8;

/// Of `doctor`, which is no error: this machine cannot train.
inline constexpr int kUnfitExit = 9;

/// In ascending order: 0, every ErrorKind, and those of single commands.
std::span<const ExitCode> exit_codes();

struct CliCommand;

/// Those with which this command may end, in ascending order: its own (CliCommand::exits), and
/// those of all: ok, a bug, usage, no memory, and 75 of a signal.
std::vector<ExitCode> exit_codes_of(const CliCommand& command);

}  // namespace lockstep
