// Values of single keys: from YAML into the Config with type and range checks, and back to YAML.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/config/schema.h"
#include "trainer/config/yaml_tree.h"

namespace lockstep {

/// Sets the key's member from `node`. If the value is refused, returns why ("'training.max_steps'
/// must be an integer >= -1, not 'abc'") and does not change the member.
std::optional<std::string> set_value(const ConfigKey& key, const YamlNode& node, Config& config);

/// The same from a command line's text. Strings are taken literally; lists are written [a, b].
std::optional<std::string> set_value(const ConfigKey& key, std::string_view text, Config& config);

/// Resets the member to its default.
void reset_value(const ConfigKey& key, Config& config);

/// A string as YAML: quoted unless every reader reads it as the same string without.
std::string string_text(std::string_view text);

/// The value as YAML on one line, such that set_value restores it exactly: 0.001, [0.9, 0.99],
/// "a: b".
std::string value_text(const ConfigKey& key, const Config& config);

/// The same of the key's default.
std::string default_value_text(const ConfigKey& key);

/// The strings of a key that is a string or a list of strings, without empty ones.
std::vector<std::string> texts_of(const ConfigKey& key, const Config& config);

}  // namespace lockstep
