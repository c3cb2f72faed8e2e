// The configs of several runs beside each other, as texts by the paths of their keys: no registry
// is needed, so that runs of other programs can be compared, too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// "optimizer.learning_rate" -> "0.001"; a list is "[1, 2]".
using FlatConfig = std::map<std::string, std::string, std::less<>>;

/// The keys of a resolved config. Empty for a text that is no YAML.
FlatConfig flat_config(std::string_view yaml);

/// A key whose value is not the same in all configs.
struct DifferingKey {
  std::string key;
  std::vector<std::optional<std::string>> values;  ///< by config; nothing: it has no such key
};

/// In order of their paths. run.name and run.dir, which say where a run is, are left out.
std::vector<DifferingKey> differing_keys(const std::vector<const FlatConfig*>& configs);

}  // namespace lockstep
