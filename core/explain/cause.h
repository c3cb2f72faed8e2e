// Why a program had to be made: the closed list of causes, which compilations.jsonl writes by name,
// and what a user can do about each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep {

enum class Cause : std::uint8_t {
  kFirstCompile,  ///< nothing like it was recorded before
  // What the program did differently. In the order in which they explain each other: of several the
  // first is the main one.
  kValueRead,   ///< a read cut the trace where it was not cut before, or no longer does
  kMode,        ///< the same step for training or evaluation, or in another precision
  kInputDtype,  ///< an input has another dtype
  kInputShape,  ///< an input has another size or rank
  kInputs,      ///< an input came, went, changed its kind, or stands in another's place
  kConstant,    ///< a number that is part of the program
  kAttribute,   ///< of an op: an axis, a window, a scale
  kOpAdded,
  kOpRemoved,
  kOpOrder,    ///< the same ops, recorded in another order
  kOutputSet,  ///< a handle is alive, or a parameter trained, that was not, or the other way round
  kBucket,     ///< batches were padded to another of the lengths that the loader was given
  // What became of a program that was there.
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

/// What ends recompilations of this cause, in a sentence; empty where nothing is to be done. What
/// is_expected() is no fault, and its remedy matters only where there are too many programs.
std::string_view remedy_of(Cause cause);

/// Whether a steady run has such misses, too: what needs no remedy, as first programs, evaluations
/// and what a new build compiles again, and programs of the buckets that it asked for.
bool is_expected(Cause cause, std::string_view remedy);

}  // namespace lockstep
