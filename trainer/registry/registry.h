// The models, datasets and optimizers that a program can train, as a value. built_in() has
// lockstep's own; a program adds its own and passes the registry to the command line:
//
//   Registry registry = built_in();
//   registry.add_model<Mine>();
//   return command_line(argc, argv, registry);
//
// A row is made from a class with its name, a short description and its own config keys:
//
//   - add_model<M>: a Model with kName, kDoc; a struct M::Config with keys()
//     (trainer/settings/key.h) and, where they say something, needs() (what it asks of data),
//     check(run, report) (rules that span keys), sizes() (for `lockstep models`) and hub() (its
//     form in Hugging Face folders, trainer/hub/hub_format.h); and a constructor M(const Config&),
//     or M(const Config&, const DataFacts&).
//   - add_dataset<D>: kName, kDoc, kGives (the inputs that it can give, separated by blanks); a
//     struct with keys() and open(const OpenContext&) -> DataSource, maybe check(); kVaries = true
//     if its samples may differ in length; kBringsTokenizer = true if its tokenizer lies beside its
//     files, kTakesVocabulary = true if it makes tokens for the model's vocabulary; part() if a
//     part of its settings is one that several datasets have.
//   - add_optimizer<O>: kName, kDoc; an update rule (trainer/optimizers/optimizer.h) with keys(),
//     maybe check().
//   - add_metric<E>: an Evaluator (trainer/task/metrics.h) with kName and kDoc, made without
//     arguments; kLargerIsBetter = false if it is so; runs name those that they want in
//     eval.metrics.
//
// The members of each struct are the defaults of its keys.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/registry/row.h"
#include "trainer/settings/config.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_needs.h"
#include "trainer/task/data_source.h"
#include "trainer/task/metrics.h"
#include "trainer/task/model.h"

namespace LOCKSTEP_API lockstep {

// Marked itself, because most headers only name it, without the mark, and a first declaration
// counts.
/// Rows of models, datasets, optimizers and metrics. The functions that add one take a name from
/// its class.
class LOCKSTEP_API Registry {
 public:
  /// Error kUsage for a name that another row of the same kind has.
  template <class M>
  void add_model();
  /// Errors as add_model's.
  template <class D>
  void add_dataset();
  /// Errors as add_model's.
  template <class O>
  void add_optimizer();
  /// Errors as add_model's.
  template <class E>
  void add_metric();

  std::span<const ModelRow> models() const { return models_; }        ///< in the order of adding
  std::span<const DatasetRow> datasets() const { return datasets_; }  ///< in the order of adding
  /// In the order of adding.
  std::span<const OptimizerRow> optimizers() const { return optimizers_; }
  std::span<const MetricRow> metrics() const { return metrics_; }  ///< in the order of adding

  /// The row that a config chose. Error kUsage, listing the existing names, if it is not
  /// registered.
  const ModelRow& at(const ModelConfig& config) const;
  const DatasetRow& at(const DataConfig& config) const;         ///< likewise
  const OptimizerRow& at(const OptimizerConfig& config) const;  ///< likewise

  DataNeeds needs(const ModelConfig& config) const;  ///< of the model that the config chose
  /// Makes a model whose parameters are declared, without values; those of config.freeze are not
  /// trainable. Error kUsage for a pattern that matches none.
  std::unique_ptr<Model> make_model(const ModelConfig& config, const DataFacts& data) const;
  /// The data that a config chose; errors are the dataset's.
  DataSource open_dataset(const DataConfig& config, const OpenContext& context) const;
  /// The rule that a config chose, with its settings.
  Optimizer make_optimizer(const OptimizerConfig& config) const;
  /// Whether a metric of an evaluation, "eval/perplexity", is better if it is larger: as its row
  /// says, or else for all names but those that end in "loss".
  bool larger_is_better(std::string_view metric) const;
  /// Makes the evaluators of these names. Error kUsage for one that is not registered.
  std::vector<std::shared_ptr<const Evaluator>> make_evaluators(
      std::span<const std::string> names) const;

 private:
  template <class T, class S>
  static Row row_of() {
    return {std::string(T::kName), std::string(T::kDoc), S::keys(), OwnConfig(S{})};
  }
  /// `check` of the struct, if it has one.
  template <class S>
  static std::function<void(const OwnConfig&, const Config&, const ReportProblem&)> check_of() {
    return [](const OwnConfig& own, const Config& run, const ReportProblem& report) {
      if constexpr (requires { own.as<S>().check(run, report); }) own.as<S>().check(run, report);
    };
  }
  void add(ModelRow row);
  void add(DatasetRow row);
  void add(OptimizerRow row);
  void add(MetricRow row);

  std::vector<ModelRow> models_;
  std::vector<DatasetRow> datasets_;
  std::vector<OptimizerRow> optimizers_;
  std::vector<MetricRow> metrics_;
};

template <class M>
void Registry::add_model() {
  using S = typename M::Config;
  ModelRow row{row_of<M, S>(), {}, {}, check_of<S>(), {}, {}, {}};
  row.needs = [](const OwnConfig& own) -> DataNeeds {
    if constexpr (requires { own.as<S>().needs(); }) return own.as<S>().needs();
    return {};
  };
  row.inputs = row.needs(row.defaults).inputs;
  row.make = [](const OwnConfig& own, const DataFacts& data) {
    if constexpr (std::constructible_from<M, const S&, const DataFacts&>) {
      return std::make_unique<M>(own.as<S>(), data);
    } else {
      return std::make_unique<M>(own.as<S>());
    }
  };
  if constexpr (requires { S::sizes(); })
    for (auto& [text, size] : S::sizes()) row.sizes.emplace_back(text, OwnConfig(size));
  if constexpr (requires { S::hub(); }) row.hub = S::hub();
  add(std::move(row));
}

template <class D>
void Registry::add_dataset() {
  DatasetRow row{
      row_of<D, D>(), std::string(D::kGives), check_of<D>(),
      [](const OwnConfig& own, const OpenContext& context) { return own.as<D>().open(context); }};
  if constexpr (requires { D::kVaries; }) row.varies = D::kVaries;
  if constexpr (requires { D::kBringsTokenizer; }) row.brings_tokenizer = D::kBringsTokenizer;
  if constexpr (requires { D::kTakesVocabulary; }) row.takes_vocabulary = D::kTakesVocabulary;
  if constexpr (requires(const D& own) { own.part(); }) {
    row.shared_part = [](const OwnConfig& own) -> const void* { return &own.as<D>().part(); };
    row.part_type = typeid(std::remove_cvref_t<decltype(std::declval<const D&>().part())>);
  }
  add(std::move(row));
}

template <class O>
void Registry::add_optimizer() {
  add(OptimizerRow{row_of<O, O>(), check_of<O>(),
                   [](const OwnConfig& own) -> Optimizer { return own.as<O>(); }});
}

template <class E>
void Registry::add_metric() {
  MetricRow row{{std::string(E::kName), std::string(E::kDoc), {}, {}},
                [] { return std::make_shared<const E>(); }};
  if constexpr (requires { E::kLargerIsBetter; }) row.larger_is_better = E::kLargerIsBetter;
  add(std::move(row));
}

/// lockstep's own models, datasets and optimizers.
Registry built_in();

}  // namespace lockstep
