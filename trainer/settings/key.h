// One key of the config: its name, the member that holds its value, its allowed values and meaning.
// A struct of settings lists its keys, one row each, beside their defaults:
//
//   struct Config {
//     std::int64_t width = 16;
//     static std::vector<Key> keys() {
//       return {{.name = "width", .member = bind<&Config::width>(), .range = at_least(1),
//                .doc = "Hidden units."}};
//     }
//   };
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/api.h"
#include "data/samples/length_shares.h"
#include "trainer/settings/parameter_group.h"

namespace LOCKSTEP_API lockstep {

/// Samples begin <= i < end.
struct IndexRange {
  std::int64_t begin = 0;  ///< first sample
  std::int64_t end = 0;    ///< behind the last sample
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

/// How the values of an enum are spelled in YAML; entry i of kNames names value i.
template <class E>
struct EnumNames;

/// The YAML spelling of an enum value: "cosine", "bf16-mixed", ...
template <class E>
constexpr auto name_of(E value) -> decltype(EnumNames<E>::kNames[0]) {
  return EnumNames<E>::kNames[static_cast<std::size_t>(value)];
}

/// Reaches a key's member in an object of the struct that the key belongs to.
template <class T>
using Member = T& (*)(void* object);

/// A member of any enum type, as an index into its names.
struct EnumMember {
  std::span<const std::string_view> names;       ///< in the order of the values
  std::size_t (*get)(const void* object);        ///< index of the member's value
  void (*set)(void* object, std::size_t index);  ///< sets the member
};

/// A string member with one of `names`, which are known only at run time.
struct ChoiceMember {
  Member<std::string> member;      ///< reaches the string
  std::vector<std::string> names;  ///< the allowed ones
};

/// The member that holds a key's value; the alternative is also the key's type.
using Binding =
    std::variant<Member<std::int64_t>, Member<double>, Member<bool>, Member<std::string>,
                 Member<std::vector<std::string>>, Member<std::vector<std::int64_t>>,
                 Member<std::vector<double>>, Member<std::array<double, 2>>,
                 Member<std::optional<IndexRange>>, Member<std::vector<LengthShare>>,
                 Member<std::vector<ParameterGroup>>, EnumMember, ChoiceMember>;

/// For decltype alone: the struct that a member belongs to.
template <class Struct, class T>
Struct struct_of_member(T Struct::*);

/// Binds a member of a type that Binding lists, or of an enum that has EnumNames: bind<&S::key>(),
/// or bind<&S::part, &Part::key>() for one of a part of the struct.
template <auto First, auto... Inner>
Binding bind() {
  using Struct = decltype(struct_of_member(First));
  using T = std::remove_reference_t<decltype(((std::declval<Struct&>().*First).*....*Inner))>;
  static constexpr auto kMember = [](void* s) -> T& {
    return ((static_cast<Struct*>(s)->*First).*....*Inner);
  };
  if constexpr (std::is_enum_v<T>) {
    return EnumMember{
        EnumNames<T>::kNames,
        [](const void* s) { return static_cast<std::size_t>(kMember(const_cast<void*>(s))); },
        [](void* s, std::size_t i) { kMember(s) = static_cast<T>(i); }};
  } else {
    return Member<T>{kMember};
  }
}

/// Allowed numbers; for lists, they hold for every element.
struct Range {
  /// Bounds far above any use, so that products of a few sizes cannot overflow; not printed.
  /// @{
  static constexpr double kMaxSize = 1 << 24;
  static constexpr double kMaxCount = 1e15;
  /// @}

  double min = -std::numeric_limits<double>::infinity();  ///< smallest
  double max = std::numeric_limits<double>::infinity();   ///< largest
  bool min_open = false;                                  ///< min itself is not allowed
  bool max_open = false;                                  ///< max itself is not allowed

  /// Whether x is allowed.
  bool contains(double x) const {
    return (min_open ? x > min : x >= min) && (max_open ? x < max : x <= max);
  }
  std::string to_string() const;  ///< ">= 0", "> 0 and < 1", "" if unbounded
  friend bool operator==(const Range&, const Range&) = default;
};

/// Sizes of tensors and batches.
inline Range size_at_least(double min) {
  return {min, Range::kMaxSize};
}
/// Numbers of steps, samples, seeds.
inline Range count_at_least(double min) {
  return {min, Range::kMaxCount};
}
/// X >= min.
inline Range at_least(double min) {
  return {min, std::numeric_limits<double>::infinity()};
}
/// X > min.
inline Range above(double min) {
  return {min, std::numeric_limits<double>::infinity(), true};
}
/// 0 <= x < 1
inline Range fraction() {
  return {0, 1, false, true};
}

/// A key of the config: where its value goes, what it may be and means. Members not given have no
/// effect.
struct Key {
  std::string name;  ///< within its section
  /// Other names that a config may use; an alias of several keys sets all of them.
  std::vector<std::string> aliases = {};
  Binding member;             ///< where the value goes
  Range range = {};           ///< of numbers
  std::string unit = "";      ///< of numbers: "tokens", "seconds"
  std::string doc;            ///< one sentence
  bool required = false;      ///< where it has an effect
  bool may_be_empty = false;  ///< strings and lists
  bool per_rank = false;      ///< may differ between the ranks of one job: no result depends on it
  /// Of a list: the name of an empty one instead of []; of an integer: of 0, beyond its range.
  std::string empty_word = "";
  std::string_view since = "0.1.0";  ///< the first version that has it
  bool file = false;  ///< names files that the run reads; they must be equal on all ranks
  /// Reaches the part of the struct that has `member`, see nested(); null: the struct itself.
  void* (*part)(void* object) = nullptr;
  /// For a key that names a folder, or a file that names others: returns all files at `path` that
  /// the run reads. `settings` is the struct that has the key.
  std::vector<std::string> (*files_in)(const std::string& path, const void* settings) = nullptr;

  /// "integer >= 1", "one of adamw, sgd", "list of two numbers >= 0 and < 1", ...
  std::string type_text() const;
};

/// The keys of a part of a struct as keys of the struct, "name.key"; their aliases likewise.
template <auto Part>
std::vector<Key> nested(std::string_view name, std::vector<Key> keys) {
  using Struct = decltype(struct_of_member(Part));
  const std::string prefix = std::string(name) + ".";
  for (Key& key : keys) {
    key.name.insert(0, prefix);
    for (std::string& alias : key.aliases) alias.insert(0, prefix);
    key.part = [](void* object) -> void* { return &(static_cast<Struct*>(object)->*Part); };
  }
  return keys;
}

}  // namespace lockstep
