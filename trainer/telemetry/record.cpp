#include "trainer/telemetry/record.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep {
namespace {

struct Field {
  std::string_view name;
  std::optional<double> TelemetryRecord::*value;
};

constexpr std::string_view kTrain = "train/";

using R = TelemetryRecord;
constexpr std::array kFields = {Field{"lr", &R::learning_rate},
                                Field{"grad_norm", &R::grad_norm},
                                Field{"perf/ups", &R::updates_per_s},
                                Field{"perf/tokens_per_s", &R::tokens_per_s},
                                Field{"perf/step_ms", &R::step_ms},
                                Field{"perf/trace_ms", &R::trace_ms},
                                Field{"perf/device_ms", &R::device_ms},
                                Field{"perf/compile_ms", &R::compile_ms},
                                Field{"perf/input_wait_ms", &R::input_wait_ms},
                                Field{"perf/exposed_comm_ms", &R::exposed_comm_ms},
                                Field{"perf/exposed_gap_ms", &R::exposed_gap_ms},
                                Field{"perf/core_use", &R::core_use},
                                Field{"perf/checkpoint_stall_ms", &R::checkpoint_stall_ms},
                                Field{"perf/eval_ms", &R::eval_ms},
                                Field{"perf/save_ms", &R::save_ms},
                                Field{"sim/step_ms", &R::sim_step_ms},
                                Field{"sim/exposed_comm_ms", &R::sim_exposed_comm_ms},
                                Field{"sim/exposed_gap_ms", &R::sim_exposed_gap_ms},
                                Field{"sim/input_wait_ms", &R::sim_input_wait_ms},
                                Field{"sim/mfu", &R::sim_mfu},
                                Field{"memory/peak_bytes", &R::peak_bytes}};

}  // namespace

std::vector<std::pair<std::string, double>> fields_of(const TelemetryRecord& record) {
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, value] : loss_first(record.train))
    out.emplace_back(std::string(kTrain) + name, value);
  for (const Field& field : kFields)
    if (const std::optional<double>& value = record.*field.value)
      out.emplace_back(field.name, *value);
  for (const auto& metric : loss_first(record.evaluations)) out.push_back(metric);
  return out;
}

bool set_field(TelemetryRecord& record, const std::string& name, double value) {
  if (name.starts_with(kTrain)) {
    record.train[name.substr(kTrain.size())] = value;
  } else if (const auto* field = std::ranges::find(kFields, name, &Field::name);
             field != kFields.end()) {
    record.*field->value = value;
  } else if (name.find('/') != std::string::npos) {
    record.evaluations[name] = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace lockstep
