#include "trainer/cli/exit_codes.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "trainer/cli/command.h"

namespace lockstep {
namespace {

/// Without `default`: a new kind does not compile until it has a meaning here.
constexpr std::string_view meaning_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInternal: return "internal error: a bug of lockstep";
    case ErrorKind::kUsage: return "usage or config";
    case ErrorKind::kData: return "data: a dataset, tokenizer or corpus file";
    case ErrorKind::kCheckpoint: return "checkpoint: cannot be written, found or trusted";
    case ErrorKind::kNonFinite: return "NaN or infinity in the loss or the gradients";
    case ErrorKind::kOutOfMemory: return "out of memory (device or host)";
    case ErrorKind::kPeer: return "stalled, lost or diverging rank";
    case ErrorKind::kPreempted: return "preempted and saved: start again to go on";
  }
  return {};
}

constexpr ExitCode row(ErrorKind kind) {
  return {static_cast<int>(kind), meaning_of(kind)};
}

constexpr std::array kAllExitCodes{ExitCode{0, "ok"},
                                   row(ErrorKind::kInternal),
                                   row(ErrorKind::kUsage),
                                   row(ErrorKind::kData),
                                   row(ErrorKind::kCheckpoint),
                                   row(ErrorKind::kNonFinite),
                                   row(ErrorKind::kOutOfMemory),
                                   row(ErrorKind::kPeer),
                                   ExitCode{kPointsFailedExit, "failed points of a sweep"},
                                   ExitCode{kUnfitExit, "this machine cannot train (doctor)"},
                                   row(ErrorKind::kPreempted)};

}  // namespace

std::span<const ExitCode> exit_codes() {
  return kAllExitCodes;
}

std::vector<ExitCode> exit_codes_of(const CliCommand& command) {
  constexpr std::array kOfAll{
      0, static_cast<int>(ErrorKind::kInternal), static_cast<int>(ErrorKind::kUsage),
      static_cast<int>(ErrorKind::kOutOfMemory), static_cast<int>(ErrorKind::kPreempted)};
  std::vector<ExitCode> out;
  for (const ExitCode& row : kAllExitCodes)
    if (std::ranges::find(kOfAll, row.code) != kOfAll.end() ||
        std::ranges::find(command.exits, row.code) != command.exits.end())
      out.push_back(row);
  return out;
}

}  // namespace lockstep
