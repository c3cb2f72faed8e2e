// The rows of a registry: a name with what can be made of it, its config keys, and the traits by
// which the rest of the program tells rows apart.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "core/base/api.h"
#include "trainer/hub/hub_format.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_needs.h"
#include "trainer/task/data_source.h"
#include "trainer/task/metrics.h"
#include "trainer/task/model.h"

namespace LOCKSTEP_API lockstep {

/// The common part of all rows. `defaults` holds the struct with the keys' members.
struct Row {
  std::string name;       ///< in configs
  std::string doc;        ///< a phrase: "plain text"
  std::vector<Key> keys;  ///< of its own section
  OwnConfig defaults;     ///< of these keys
};

/// A model.
struct ModelRow : Row {
  std::string inputs;                                ///< DataNeeds::inputs of the defaults
  std::function<DataNeeds(const OwnConfig&)> needs;  ///< what it asks of data
  /// Reports broken rules that span keys.
  std::function<void(const OwnConfig&, const Config&, const ReportProblem&)> check;
  /// Makes the model, whose parameters have no values yet.
  std::function<std::unique_ptr<Model>(const OwnConfig&, const DataFacts&)> make;
  std::vector<std::pair<std::string, OwnConfig>> sizes;  ///< common ones, with a line on each
  std::optional<HubFormat> hub = {};  ///< its form in Hugging Face folders, if it has one
};

/// A dataset.
struct DatasetRow : Row {
  std::string gives;  ///< the inputs that it can give, separated by blanks
  /// Reports broken rules that span keys.
  std::function<void(const OwnConfig&, const Config&, const ReportProblem&)> check;
  std::function<DataSource(const OwnConfig&, const OpenContext&)> open;  ///< opens the files
  bool varies = false;            ///< fields of variable length
  bool brings_tokenizer = false;  ///< a tokenizer lies beside its files
  bool takes_vocabulary = false;  ///< makes tokens below the model's vocab_size, and so gives none
  /// The part of the settings that several datasets have, and its type, if there is one.
  std::function<const void*(const OwnConfig&)> shared_part = nullptr;
  /// See shared_part; void: there is none.
  std::type_index part_type = typeid(void);

  /// The part of this type, such as ImageSettings; null if the dataset has none.
  template <class Part>
  const Part* part(const OwnConfig& keys) const {
    return part_type == typeid(Part) ? static_cast<const Part*>(shared_part(keys)) : nullptr;
  }
  /// Whether a model that takes `inputs` can be trained on it.
  bool can_give(std::string_view inputs) const;
};

/// An update rule.
struct OptimizerRow : Row {
  /// Reports broken rules that span keys.
  std::function<void(const OwnConfig&, const Config&, const ReportProblem&)> check;
  std::function<Optimizer(const OwnConfig&)> make;  ///< the rule with these settings
};

/// A metric that is not a ratio of sums.
struct MetricRow : Row {
  std::function<std::shared_ptr<const Evaluator>()> make;  ///< an evaluator
  bool larger_is_better = true;  ///< for early stopping and the best checkpoint
};

}  // namespace lockstep
