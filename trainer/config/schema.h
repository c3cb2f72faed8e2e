// The one list of config keys. Parsing, validation, overrides, `config show`, `config schema` and
// the diff of two configs all walk this table; there is no second list. Adding a key is a member in
// config.h (with its default) and a row in schema_keys*.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trainer/config/config.h"

namespace lockstep {

/// Reaches a key's member in a Config.
template <class T>
using Member = T& (*)(Config&);

/// A member of any enum type, as an index into its names.
struct EnumMember {
  std::span<const std::string_view> names;
  std::size_t (*get)(const Config&);
  void (*set)(Config&, std::size_t);
};

/// Where a key's value lives; the alternative is also the key's type.
using Binding =
    std::variant<Member<std::int64_t>, Member<double>, Member<bool>, Member<std::string>,
                 Member<std::vector<std::string>>, Member<std::vector<std::int64_t>>,
                 Member<std::array<double, 2>>, Member<std::optional<IndexRange>>, EnumMember>;

/// Allowed numbers; for lists, of every element.
struct Range {
  // Bounds far above any use, so that products of a few sizes cannot overflow; not worth printing.
  static constexpr double kMaxSize = 1 << 24;
  static constexpr double kMaxCount = 1e15;

  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;  ///< min itself is not allowed
  bool max_open = false;

  bool contains(double x) const {
    return (min_open ? x > min : x >= min) && (max_open ? x < max : x <= max);
  }
  std::string to_string() const;  ///< ">= 0", "> 0 and < 1", "" if unbounded
};

/// "The enum key `key` has one of `values`" (unused places are empty), and `key` itself has an
/// effect.
struct Condition {
  std::string_view key;
  std::array<std::string_view, 3> values;
};

struct ConfigKey {
  std::string_view path;  ///< "section.key"
  Binding member;
  Range range = {};
  std::string_view unit = "";
  std::string_view doc;             ///< one sentence
  bool required = false;            ///< where it has an effect
  bool may_be_empty = false;        ///< strings and lists
  bool per_rank = false;            ///< ranks of one job may differ: no result depends on it
  const Condition* when = nullptr;  ///< where the key has an effect; null: everywhere

  std::string_view section() const { return path.substr(0, path.find('.')); }
  std::string_view name() const { return path.substr(path.find('.') + 1); }
  /// "integer >= 1", "one of adamw, sgd", "list of two numbers >= 0 and < 1", ...
  std::string type_text() const;
};

/// Every key, grouped by section, in the order in which `config show` prints them.
std::span<const ConfigKey> config_keys();

/// Null if there is no such key.
const ConfigKey* find_config_key(std::string_view path);

/// The sections in order.
std::vector<std::string_view> config_sections();

/// The first condition of `key` that `config` does not meet, conditions of conditions included;
/// null if the key has an effect.
const Condition* unmet_condition(const ConfigKey& key, const Config& config);

}  // namespace lockstep
