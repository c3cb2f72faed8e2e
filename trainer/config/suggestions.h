// What a user may have meant by a name that no key or section has.
#pragma once

#include <string>
#include <string_view>

#include "trainer/config/schema.h"

namespace lockstep {

/// Keys of a section are those of the rows that `config` chose there, or of all rows if none is
/// chosen yet. Both references outlive it.
class Suggestions {
 public:
  Suggestions(const Schema& schema, const Config& config) : schema_(schema), config_(config) {}

  /// "learning_rate" for a near miss in the same section, "optimizer.learning_rate" for a key of
  /// another section, else "".
  std::string key(std::string_view section, std::string_view name) const;
  /// A section or, if none is near, a whole path, or "".
  std::string section(std::string_view name) const;
  /// A suggestion for "train.max_steps": a whole path, or a section if none of its keys is similar,
  /// or "".
  std::string path(std::string_view section, std::string_view name) const;

 private:
  bool may_be_chosen(const ConfigKey& key) const;
  std::string nearest_section(std::string_view name) const;

  const Schema& schema_;
  const Config& config_;
};

}  // namespace lockstep
