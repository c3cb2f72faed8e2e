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

enum class TokenizerType : std::uint8_t { kNone, kChar, kGpt2, kFile };
enum class Precision : std::uint8_t { kFp32, kBf16Mixed };
enum class OnNonfinite : std::uint8_t { kStop, kSkip };
enum class OnMaxPrograms : std::uint8_t { kWarn, kStop };
enum class SchedulerName : std::uint8_t {
  kConstant,
  kLinear,
  kCosine,
  kPolynomial,
  kInverseSqrt,
  kOneCycle,
  kWsd,
  kStep,
  kPlateau
};
enum class CooldownShape : std::uint8_t { kLinear, kCosine, kOneMinusSqrt };
enum class AllReducePath : std::uint8_t { kAuto, kShm, kMpi };
enum class BetterMetric : std::uint8_t { kAuto, kMin, kMax };
enum class TraceClock : std::uint8_t { kReal, kVirtual };
/// How a model takes learned embeddings of another number of positions: not at all; the first ones,
/// of which further ones are copies, from the first on; or between neighbours, over all of them.
enum class GrowPositions : std::uint8_t { kNone, kCopy, kInterpolate };

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
