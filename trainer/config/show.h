// Prints the config: the resolved YAML that is saved with a run, the documentation of all keys, and
// the difference of two configs.
#pragma once

#include <string>
#include <vector>

#include "trainer/settings/config.h"

namespace lockstep {

class Registry;

/// Every key that has an effect, in the order of the schema. Parsing the text gives `config` back.
std::string config_yaml(const Config& config, const Registry& registry);

/// All keys with type, default, unit and one sentence each; an equal key of several rows of the
/// registry appears once.
std::string config_schema_text(const Registry& registry);

/// The same as a JSON schema (draft 2020-12), for editors and scripts. Beyond the standard's words,
/// "x-per-rank" says whether a key may differ between the ranks of one job, and "x-only-with" lists
/// the values of another key with which it has an effect.
std::string config_schema_json(const Registry& registry);

/// The same as a JSON list of rows, from which scripts/make_reference.py makes the pages of
/// docs/reference/config.
std::string config_keys_json(const Registry& registry);

/// The changes, one line per key: "optimizer.learning_rate: 0.001 -> 0.0003"; "(none)" stands for a
/// key that has no effect on one side.
std::vector<std::string> config_diff(const Config& before, const Config& after,
                                     const Registry& registry);

}  // namespace lockstep
