// The config written out: the resolved YAML that is saved with a run, the documentation of all
// keys, and the difference of two configs.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/config.h"

namespace lockstep {

/// Every key that has an effect, in the order of the schema. Parsing the text gives `config` back.
std::string config_yaml(const Config& config);

/// All keys with type, default, unit and one sentence each.
std::string config_schema_text();

/// The same as a JSON schema (draft 2020-12), for editors and scripts. Beyond the standard's words,
/// "x-per-rank" says whether ranks of one job may differ in a key, and "x-only-with" which values
/// of another key it has an effect with.
std::string config_schema_json();

/// What changed, one line per key: "optimizer.learning_rate: 0.001 -> 0.0003"; "(none)" stands for
/// a key that has no effect on one side.
std::vector<std::string> config_diff(const Config& before, const Config& after);

}  // namespace lockstep
