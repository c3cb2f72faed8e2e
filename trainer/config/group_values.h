// The value of optimizer.groups, in YAML
//   [{match: ["*.bias", "*.ln_*"], weight_decay: 0}, {match: "lm_head*", learning_rate: 1e-3}]
// and what it stands for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/config/yaml_tree.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/config.h"
#include "trainer/settings/report_problem.h"

namespace lockstep {

class Module;
class Registry;

/// Reads a list of groups, or returns why it is none: "must ...". Which keys there are is not
/// checked, see check_groups().
std::optional<std::string> read_groups(const YamlNode& node, std::vector<ParameterGroup>& out);

/// The groups as YAML on one line.
std::string groups_text(const std::vector<ParameterGroup>& groups);

/// Reports groups whose settings are no keys of the config's optimizer, or have values that these
/// keys do not take.
void check_groups(const Config& config, const Registry& registry, const ReportProblem& report);

/// Puts the parameters of `module` into the config's groups, which have the names of their
/// patterns, and returns the groups' rules. Error kUsage for a pattern that matches no parameter,
/// or a group without a trained one.
OptimizerGroups make_groups(const Config& config, const Registry& registry, Module& module);

}  // namespace lockstep
