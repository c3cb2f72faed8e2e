// The enums of the config and how YAML spells their values: one table per enum.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/settings.h"

namespace lockstep {

enum class ModelName : std::uint8_t { kMlp, kLenet, kGpt2 };
enum class TokenizerType : std::uint8_t { kNone, kChar, kGpt2 };
enum class DataType : std::uint8_t { kText, kTokens, kIdx, kSynthetic };
enum class Precision : std::uint8_t { kFp32, kBf16Mixed };
enum class OnNonfinite : std::uint8_t { kStop, kSkip };
enum class OptimizerName : std::uint8_t { kAdamW, kSgd };
enum class SchedulerName : std::uint8_t { kConstant, kLinear, kCosine };
enum class AllReducePath : std::uint8_t { kAuto, kShm, kMpi };
enum class BetterMetric : std::uint8_t { kAuto, kMin, kMax };

/// How the values of an enum are spelled in YAML; entry i names value i.
template <class E>
struct EnumNames;
template <>
struct EnumNames<ModelName> {
  static constexpr std::array<std::string_view, 3> kNames{"mlp", "lenet", "gpt2"};
};
template <>
struct EnumNames<TokenizerType> {
  static constexpr std::array<std::string_view, 3> kNames{"none", "char", "gpt2"};
};
template <>
struct EnumNames<DataType> {
  static constexpr std::array<std::string_view, 4> kNames{"text", "tokens", "idx", "synthetic"};
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
struct EnumNames<OptimizerName> {
  static constexpr std::array<std::string_view, 2> kNames{"adamw", "sgd"};
};
template <>
struct EnumNames<SchedulerName> {
  static constexpr std::array<std::string_view, 3> kNames{"constant", "linear", "cosine"};
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
struct EnumNames<BetterMetric> {
  static constexpr std::array<std::string_view, 3> kNames{"auto", "min", "max"};
};

/// The YAML spelling of an enum value: "gpt2", "cosine", ...
template <class E>
constexpr auto name_of(E value) -> decltype(EnumNames<E>::kNames[0]) {
  return EnumNames<E>::kNames[static_cast<std::size_t>(value)];
}

}  // namespace lockstep
