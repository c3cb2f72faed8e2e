// The only list of config keys, made from the registry: the keys of every run (fixed_keys.cpp), and
// those of each model, dataset and optimizer. Parsing, validation, overrides, `config show`,
// `config schema` and the diff of two configs all use it.
//
// Two rows of the registry may have keys of the same name with a different type, default or
// meaning: these are two keys with the same path, of which at most one has an effect.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/config/condition.h"
#include "trainer/registry/registry.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"

namespace lockstep {

/// A section in which one key, the selector, chooses a row of the registry. The section has the
/// keys of that row in addition to the fixed ones.
struct RowSection {
  std::string_view name;      ///< "model"
  std::string_view selector;  ///< "model.name"
  std::string_view what;      ///< the kind of row: "model", "dataset", "optimizer"
  std::string& (*chosen)(Config&);
  OwnConfig& (*keys)(Config&);
  std::vector<const Row*> (*rows)(const Registry&);
};

std::span<const RowSection> row_sections();
/// Null for sections with fixed keys only.
const RowSection* find_row_section(std::string_view section);

struct ConfigKey : Key {
  std::string section;
  std::string path;                          ///< "section.name"
  std::optional<Condition> when = {};        ///< when the key has an effect; nothing: always
  void* (*fixed_object)(Config&) = nullptr;  ///< for a fixed key: the section's struct
  const RowSection* rows = nullptr;          ///< for a row's key: the section, ...
  const Row* row = nullptr;                  ///< ... and the row

  /// The object that holds `member`. For a row's key only if the config has chosen that row.
  void* object_in(Config& config) const;
  const void* object_in(const Config& config) const;
  /// The same of defaults: a row's, or for a fixed key those of `fresh`.
  void* default_object(Config& fresh) const;

 private:
  void* part_of(void* object) const { return part == nullptr ? object : part(object); }
};

class Schema {
 public:
  /// `registry` must outlive the schema. Error kUsage for a row with a key that its section already
  /// has.
  explicit Schema(const Registry& registry);

  const Registry& registry() const { return registry_; }

  /// The keys of all rows, grouped by section, in the order in which `config show` prints them.
  std::span<const ConfigKey> keys() const { return keys_; }
  /// The sections in order.
  std::vector<std::string_view> sections() const;
  bool has_section(std::string_view name) const;
  /// Whether there are keys under this path, as profile.trace.steps under profile.trace.
  bool has_subsection(std::string_view path) const;

  /// The key of this path; the first one if several rows have it. Null if there is none.
  const ConfigKey* find(std::string_view path) const;
  /// The key that is valid for the choices of `config`: a fixed key, or one of a chosen row.
  const ConfigKey* find(std::string_view path, const Config& config) const;

  /// The paths that `path` stands for in `config`: itself, or the keys that have it as an alias.
  /// Empty if it is not a key.
  std::vector<std::string> resolve(const std::string& path, const Config& config) const;

  /// The first condition of `key` that `config` does not meet, conditions of conditions included;
  /// null if the key has an effect.
  const Condition* unmet(const ConfigKey& key, const Config& config) const;

 private:
  void add_rows(const RowSection& section);
  /// `alike`: the keys of its path.
  static void refuse_second(const ConfigKey& key, std::span<const ConfigKey* const> alike);

  const Registry& registry_;
  std::vector<ConfigKey> keys_;
};

}  // namespace lockstep
