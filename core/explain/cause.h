// Why a program was made: the closed list of causes, which compilations.jsonl contains by name, and
// the user's remedy for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep {

enum class Cause : std::uint8_t {
  kFirstCompile,  ///< no similar graph was recorded before
  // What the program did differently. Earlier causes explain later ones: of several the first is
  // the main one.
  kValueRead,   ///< a read cut the trace where it was not cut before, or no longer does
  kMode,        ///< the same step for training or evaluation, or in another precision
  kInputDtype,  ///< an input has another dtype
  kInputShape,  ///< an input has another size or rank
  kInputs,      ///< an input was added or removed, changed its kind, or has another's place
  kConstant,    ///< a number that is part of the program
  kAttribute,   ///< of an op: an axis, a window, a scale
  kOpAdded,
  kOpRemoved,
  kOpOrder,    ///< the same ops, recorded in another order
  kOutputSet,  ///< a handle is alive, or a parameter trained, that was not before, or the reverse
  kBucket,     ///< batches were padded to another of the lengths that the loader was given
  // Why an existing program could not be used.
  kEvicted,       ///< it was dropped from memory to make room
  kDamagedEntry,  ///< its file could not be read
  kBuild,         ///< the file is of another build
  kIsa,           ///< the file is for other vector units or another processor
  kOptions,       ///< the file was made with other settings
};
inline constexpr int kCauseCount = static_cast<int>(Cause::kOptions) + 1;

/// "input_shape".
std::string_view name_of(Cause cause);
std::optional<Cause> parse_cause(std::string_view name);

/// The remedy for recompilations of this cause, in a sentence; empty if there is none. A cause that
/// is_expected() is not a fault: its remedy matters only if there are too many programs.
std::string_view remedy_of(Cause cause);

/// Whether a run without faults has such misses, too, and so needs no remedy: first programs,
/// evaluations, programs of its configured buckets, and those after a new build or for other
/// settings.
bool is_expected(Cause cause, std::string_view remedy);

}  // namespace lockstep
