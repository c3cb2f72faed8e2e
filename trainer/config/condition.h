// When a config key has an effect.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// "The key `key` has one of `values`", and `key` itself has an effect.
struct Condition {
  std::string key;  ///< its path; it is an enum or a choice
  std::vector<std::string> values;
  friend bool operator==(const Condition&, const Condition&) = default;
};

}  // namespace lockstep
