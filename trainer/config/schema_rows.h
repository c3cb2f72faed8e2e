// What the rows of the table of schema.h are written with. Included by schema_keys*.cpp only.
#pragma once

#include <limits>
#include <type_traits>
#include <vector>

#include "trainer/config/schema.h"

namespace lockstep {

template <class Struct, class T>
T member_type(T Struct::*);

/// Binds config.<section>.<key>.
template <auto Section, auto Key>
Binding bind() {
  using T = decltype(member_type(Key));
  if constexpr (std::is_enum_v<T>) {
    return EnumMember{EnumNames<T>::kNames,
                      [](const Config& c) { return static_cast<std::size_t>(c.*Section.*Key); },
                      [](Config& c, std::size_t i) { c.*Section.*Key = static_cast<T>(i); }};
  } else {
    return Member<T>{[](Config& c) -> T& { return c.*Section.*Key; }};
  }
}

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kMaxSize = Range::kMaxSize;
inline constexpr double kMaxCount = Range::kMaxCount;

inline Range sizes(double min = 1) {
  return {min, kMaxSize};
}
inline Range counts(double min = 0) {
  return {min, kMaxCount};
}
inline Range at_least(double min) {
  return {min, kInf};
}
inline Range above(double min) {
  return {min, kInf, true};
}
inline Range fraction() {
  return {0, 1, false, true};
}

inline constexpr Condition kMlp{"model.name", {"mlp"}};
inline constexpr Condition kClassifier{"model.name", {"mlp", "lenet"}};
inline constexpr Condition kGpt2{"model.name", {"gpt2"}};
inline constexpr Condition kGpt2Tokenizer{"tokenizer.type", {"gpt2"}};
inline constexpr Condition kFiles{"data.type", {"text", "tokens", "idx"}};
inline constexpr Condition kTokenFiles{"data.type", {"text", "tokens"}};
inline constexpr Condition kIdx{"data.type", {"idx"}};
inline constexpr Condition kSynthetic{"data.type", {"synthetic"}};
inline constexpr Condition kAdamW{"optimizer.name", {"adamw"}};
inline constexpr Condition kSgd{"optimizer.name", {"sgd"}};
inline constexpr Condition kDecaying{"scheduler.name", {"linear", "cosine"}};

using C = Config;

// The rows of schema_keys_training.cpp.
std::vector<ConfigKey> training_keys();
std::vector<ConfigKey> evaluation_and_checkpoint_keys();
std::vector<ConfigKey> machine_and_output_keys();

}  // namespace lockstep
