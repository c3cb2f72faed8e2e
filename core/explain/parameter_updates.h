// What a step's update does with parameters, as lockstep records it of its own: which it trains,
// and what it keeps of each from step to step (slots of the optimizer, copies in another dtype).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/explain/differences.h"

namespace lockstep {

class ParameterUpdates {
 public:
  explicit ParameterUpdates(const GraphDescriptor& graph);

  /// The parameter whose update writes the input's next value; kNoValue if none does.
  ValueId parameter_of(ValueId input) const;
  /// By name.
  ValueId find_parameter(const std::string& name) const;
  bool trains(const std::string& parameter) const { return trained_.contains(parameter); }
  const std::set<std::string>& trained() const { return trained_; }
  /// "exp_avg" of "exp_avg.h.3.weight", for each of these parameters.
  std::set<std::string> slots(const std::set<std::string>& of_parameters) const;
  /// Whether what has this scope was recorded for the update of a parameter.
  bool is_rule(const std::string& scope) const;

 private:
  const GraphDescriptor& graph_;
  std::map<std::string, ValueId> parameters_;
  std::map<ValueId, ValueId> parameter_of_;  ///< of what is written
  std::set<std::string> trained_;
};

/// Adds which parameters are trained in one of the graphs only, and which slots an optimizer keeps
/// in one only, and names the settings of which ops came or went. What the update records because
/// of it is marked as derived; numbers of two optimizers are no pairs, and left out.
void tell_parameter_updates(const Comparison& graphs, std::vector<Difference>& differences);

}  // namespace lockstep
