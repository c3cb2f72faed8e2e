#include <ostream>

#include "core/base/error.h"
#include "trainer/cli/commands.h"

namespace lockstep {
namespace {

/// How many parameters a model of this size has; "?" if that depends on its data.
std::string count_parameters(const ModelRow& row, const OwnConfig& size) {
  try {
    return fmt::format("{}", row.make(size, {})->parameters().elements());
  } catch (const Error&) {
    return "?";
  }
}

int run_models(const CommandCall& call) {
  const auto line = [&](std::string_view name, std::string_view parameters, std::string_view text) {
    call.out << fmt::format("{:<10} {:>13}  {}\n", name, parameters, text);
  };
  line("model.name", "parameters", "what it is");
  for (const ModelRow& row : call.registry.models()) {
    if (row.sizes.empty()) line(row.name, count_parameters(row, row.defaults), row.doc);
    for (const auto& [text, size] : row.sizes) line(row.name, count_parameters(row, size), text);
  }
  call.out << "\neval.metrics in addition to those of the model's loss\n";
  for (const MetricRow& row : call.registry.metrics())
    call.out << fmt::format("{:<24}  {}\n", row.name, row.doc);
  return 0;
}

}  // namespace

CliCommand models_command() {
  return {
      .name = "models",
      .positionals = {},
      .help =
          "list the models, with the number of their parameters at common sizes, and the metrics",
      .run = run_models};
}

}  // namespace lockstep
