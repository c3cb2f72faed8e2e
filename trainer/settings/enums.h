// The enums of the config and the YAML names of their values: one table per enum.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/api.h"
#include "core/base/settings.h"
#include "core/virtual_time/host_costs.h"
#include "data/samples/padding.h"
#include "trainer/settings/key.h"

namespace LOCKSTEP_API lockstep {

/// How text becomes tokens.
enum class TokenizerType : std::uint8_t {
  kNone,  ///< that of the data, if it has one
  kChar,  ///< a token for each character of the corpus
  kGpt2,  ///< GPT-2's byte-pair encoding
  kFile,  ///< that of a file
};

/// Arithmetic of a model.
enum class Precision : std::uint8_t {
  kFp32,       ///< f32 throughout
  kBf16Mixed,  ///< activations and dots in bf16, all else in f32
};

/// What follows NaN or infinity in a gradient.
enum class OnNonfinite : std::uint8_t {
  kStop,  ///< the run ends with exit code 5
  kSkip,  ///< the step changes nothing
};

/// What follows more programs than device.max_programs.
enum class OnMaxPrograms : std::uint8_t {
  kWarn,  ///< a warning; the least recently used one is dropped
  kStop,  ///< the run ends with exit code 2
};

/// The learning rate after warm-up.
enum class SchedulerName : std::uint8_t {
  kConstant,     ///< the peak
  kLinear,       ///< falls on a line
  kCosine,       ///< falls along half a cosine
  kPolynomial,   ///< falls by a power of what is left
  kInverseSqrt,  ///< falls with the square root of the steps
  kOneCycle,     ///< rises, then falls below its begin; has no warm-up
  kWsd,          ///< the peak until a cool-down
  kStep,         ///< times gamma at each milestone
  kPlateau,      ///< times a factor when a metric no longer improves
};

/// How the rate of SchedulerName::kWsd falls at the end.
enum class CooldownShape : std::uint8_t {
  kLinear,        ///< on a line
  kCosine,        ///< along half a cosine
  kOneMinusSqrt,  ///< 1 - sqrt of the part that has passed
};

/// How gradients travel between ranks.
enum class AllReducePath : std::uint8_t {
  kAuto,  ///< shared memory if all ranks have it, else messages
  kShm,   ///< memory that the ranks of a node share
  kMpi,   ///< messages
};

/// Which value of a metric is the best.
enum class BetterMetric : std::uint8_t {
  kAuto,  ///< as its name or its row in the registry says
  kMin,   ///< the smallest
  kMax,   ///< the largest
};

/// The time of a trace.
enum class TraceClock : std::uint8_t {
  kReal,     ///< what this machine did
  kVirtual,  ///< what the devices of device.profile would do
};

/// How a model takes learned embeddings of another number of positions.
enum class GrowPositions : std::uint8_t {
  kNone,         ///< not at all
  kCopy,         ///< the first ones, of which further ones are copies, from the first on
  kInterpolate,  ///< between neighbours, over all of them
};

template <>
struct EnumNames<TokenizerType> {
  static constexpr std::array<std::string_view, 4> kNames{"none", "char", "gpt2", "file"};
};
template <>
struct EnumNames<Precision> {
  static constexpr std::array<std::string_view, 2> kNames{"fp32", "bf16-mixed"};
};
template <>
struct EnumNames<OnNonfinite> {
  static constexpr std::array<std::string_view, 2> kNames{"stop", "skip"};
};
template <>
struct EnumNames<OnMaxPrograms> {
  static constexpr std::array<std::string_view, 2> kNames{"warn", "stop"};
};
template <>
struct EnumNames<SchedulerName> {
  static constexpr std::array<std::string_view, 9> kNames{"constant",   "linear",       "cosine",
                                                          "polynomial", "inverse_sqrt", "one_cycle",
                                                          "wsd",        "step",         "plateau"};
};
template <>
struct EnumNames<CooldownShape> {
  static constexpr std::array<std::string_view, 3> kNames{"linear", "cosine", "1-sqrt"};
};
template <>
struct EnumNames<AllReducePath> {
  static constexpr std::array<std::string_view, 3> kNames{"auto", "shm", "mpi"};
};
template <>
struct EnumNames<MaxIsa> {
  static constexpr std::array<std::string_view, 3> kNames{"auto", "avx2", "avx512"};
};
template <>
struct EnumNames<PaddingMode> {
  static constexpr std::array<std::string_view, 3> kNames{"max", "longest", "bucket"};
};
template <>
struct EnumNames<HostTime> {
  static constexpr std::array<std::string_view, 3> kNames{"measured", "none", "stated"};
};
template <>
struct EnumNames<TraceClock> {
  static constexpr std::array<std::string_view, 2> kNames{"real", "virtual"};
};
template <>
struct EnumNames<GrowPositions> {
  static constexpr std::array<std::string_view, 3> kNames{"none", "copy", "interpolate"};
};
template <>
struct EnumNames<BetterMetric> {
  static constexpr std::array<std::string_view, 3> kNames{"auto", "min", "max"};
};

}  // namespace lockstep
