#include "trainer/registry/registry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/suggest.h"

namespace lockstep {
namespace {

template <class RowType>
std::vector<std::string_view> names_of(const std::vector<RowType>& rows) {
  std::vector<std::string_view> out;
  out.reserve(rows.size());
  for (const Row& row : rows) out.push_back(row.name);
  return out;
}

template <class RowType>
void add_row(std::vector<RowType>& rows, RowType row, std::string_view what) {
  LS_USER_CHECK(!row.name.empty(), "{} is registered without a name", what);
  LS_USER_CHECK(std::ranges::find(rows, row.name, &Row::name) == rows.end(),
                "{} '{}' is registered twice", what, row.name);
  rows.push_back(std::move(row));
}

template <class RowType>
const RowType& find_row(const std::vector<RowType>& rows, const std::string& name,
                        std::string_view what) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  if (found != rows.end()) return *found;
  const std::vector<std::string_view> names = names_of(rows);
  raise(ErrorKind::kUsage, "no {} '{}' is registered, only {}{}", what, name,
        fmt::join(names, ", "), did_you_mean(nearest_word(name, names)));
}

/// The given settings, or the defaults.
const OwnConfig& own_of(const Row& row, const OwnConfig& keys) {
  return keys.empty() ? row.defaults : keys;
}

void freeze(Model& model, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns)
    for (Parameter* parameter : model.parameters().like(pattern, "'model.freeze'"))
      parameter->trainable = false;
}

}  // namespace

void Registry::add(ModelRow row) {
  add_row(models_, std::move(row), "model");
}
void Registry::add(DatasetRow row) {
  add_row(datasets_, std::move(row), "dataset");
}
void Registry::add(OptimizerRow row) {
  add_row(optimizers_, std::move(row), "optimizer");
}

void Registry::add(MetricRow row) {
  add_row(metrics_, std::move(row), "metric");
}

const ModelRow& Registry::at(const ModelConfig& config) const {
  return find_row(models_, config.name, "model");
}
const DatasetRow& Registry::at(const DataConfig& config) const {
  return find_row(datasets_, config.type, "dataset");
}
const OptimizerRow& Registry::at(const OptimizerConfig& config) const {
  return find_row(optimizers_, config.name, "optimizer");
}

DataNeeds Registry::needs(const ModelConfig& config) const {
  const ModelRow& row = at(config);
  return row.needs(own_of(row, config.keys));
}

std::unique_ptr<Model> Registry::make_model(const ModelConfig& config,
                                            const DataFacts& data) const {
  const ModelRow& row = at(config);
  std::unique_ptr<Model> out = row.make(own_of(row, config.keys), data);
  freeze(*out, config.freeze);
  return out;
}

DataSource Registry::open_dataset(const DataConfig& config, const OpenContext& context) const {
  const DatasetRow& row = at(config);
  return row.open(own_of(row, config.keys), context);
}

Optimizer Registry::make_optimizer(const OptimizerConfig& config) const {
  const OptimizerRow& row = at(config);
  return row.make(own_of(row, config.keys));
}

bool Registry::larger_is_better(std::string_view metric) const {
  constexpr std::string_view kPrefix = "eval/";
  const std::string_view name =
      metric.starts_with(kPrefix) ? metric.substr(kPrefix.size()) : metric;
  const auto row = std::ranges::find(metrics_, name, &Row::name);
  return row != metrics_.end() ? row->larger_is_better : !name.ends_with("loss");
}

std::vector<std::shared_ptr<const Evaluator>> Registry::make_evaluators(
    std::span<const std::string> names) const {
  std::vector<std::shared_ptr<const Evaluator>> out;
  for (const std::string& name : names) out.push_back(find_row(metrics_, name, "metric").make());
  return out;
}

}  // namespace lockstep
