#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/duration.h"
#include "core/base/error.h"
#include "trainer/apps/run_planner.h"
#include "trainer/config/load.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/devices/this_machine.h"
#include "trainer/foresee/planners.h"
#include "trainer/foresee/run_model.h"
#include "trainer/foresee/what_if.h"
#include "trainer/report/sections.h"
#include "trainer/statistics/op_statistics.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double kMsOfSecond = 1e3;

/// What the calibrated limits say of each class of work, beside what the ledger measured.
OrderedJson parts_of_step(const RunFacts& facts, const LoadedConfig& loaded, Planners& planners) {
  const PlannedRun run = planners.of(calibrated_device(facts.limits)).plan(loaded.config);
  const RunModel model = model_run(loaded.config, *run.step, facts.limits, facts.profiles[0].ranks,
                                   count_hosts(facts.profiles));
  const LedgerStep measured = measured_step(facts.profiles, 0);
  OrderedJson out = OrderedJson::array();
  for (std::size_t i = 0; i < model.gradient.size(); ++i) {
    const double predicted = model.gradient[i] + model.update[i];
    const double seen = measured.gradient[i] + measured.update[i];
    if (predicted <= 0 && seen <= 0) continue;
    out.push_back({{"name", name_of(static_cast<WorkClass>(i))},
                   {"measured_ms", kMsOfSecond * seen},
                   {"predicted_ms", kMsOfSecond * predicted}});
  }
  return out;
}

/// Steps on more devices, with the run's batch and larger ones. Those over which a batch cannot be
/// divided, and those that the profile does not know, are left out.
OrderedJson scaling_of(const DeviceProfile& device, const LoadedConfig& loaded,
                       const ForeseenStep& step) {
  constexpr std::array kBatches{1, 4, 16};
  constexpr std::array kPerNode{1, 2, 4, 8};
  constexpr std::array kNodes{1, 2, 4, 8};
  OrderedJson out = OrderedJson::array();
  for (const int batch : kBatches) {
    LoadedConfig config = loaded;
    config.config.batch.global_batch_size *= batch;
    for (const int per_node : kPerNode)
      for (const int nodes : kNodes) {
        if (nodes > 1 && per_node != kPerNode.back()) continue;
        ForeseeOptions options;
        options.per_node = per_node;
        options.nodes = nodes;
        try {
          const Foresight point = foresee(step, config, device, options);
          const StepTime& time = point.time;
          out.push_back(
              {{"device", point.device},
               {"devices", per_node * nodes},
               {"nodes", nodes},
               {"global_batch", point.global_batch},
               {"step_ms", kMsOfSecond * time.seconds},
               {"low_ms", kMsOfSecond * point.low},
               {"high_ms", kMsOfSecond * point.high},
               {"all_reduce_share", time.seconds > 0 ? time.exposed_seconds / time.seconds : 0}});
        } catch (const Error&) {
          continue;
        }
      }
  }
  return out;
}

double total_of(const OrderedJson& parts, const char* key) {
  double out = 0;
  for (const OrderedJson& part : parts) out += part.at(key).get<double>();
  return out;
}

void foresee_run(const RunFacts& facts, OrderedJson& out) {
  const LoadedConfig loaded = load_config(facts.file("config.yaml"), *facts.registry, {}, true);
  Planners planners(loaded.config, *facts.registry, MaxIsa::kAuto);
  const bool is_calibrated = facts.limits.steps.measured();
  if (is_calibrated && facts.knows_limits()) {
    out["parts"] = parts_of_step(facts, loaded, planners);
    const double measured = total_of(out["parts"], "measured_ms");
    const double predicted = total_of(out["parts"], "predicted_ms");
    out["finding"] = fmt::format(
        "The calibration of this machine foresees {} for the commands of a step, {:.0f} % {} than "
        "the "
        "{} that were measured.",
        readable_ns(1e6 * predicted), 100 * std::abs(predicted / measured - 1),
        predicted < measured ? "less" : "more", readable_ns(1e6 * measured));
  }
  const std::string& name = loaded.config.device.profile;
  if (name.empty() && !is_calibrated) {
    out["missing"] = "lockstep calibrate measures this machine; device.profile names another one";
    return;
  }
  const DeviceProfile device =
      name.empty() || name == kThisMachine ? calibrated_device(facts.limits) : find_device(name);
  out["device"] = device.name;
  const PlannedRun run = planners.of(device).plan(in_any_order(loaded.config));
  out["scaling"] = scaling_of(device, loaded, foreseen_step(loaded.config, run));
}

}  // namespace

std::string foresight_section(const RunFacts& facts) {
  OrderedJson out{
      {"finding", "How long a step takes elsewhere."},
      {"sources",
       {"lockstep foresee " + shell_word(facts.file("config.yaml")) + " --device NAME"}}};
  if (!facts.config) {
    out["missing"] = facts.is_of_a_program()
                         ? "only runs of a config can be planned again, not those of other programs"
                         : "the run's config cannot be read";
    return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  try {
    foresee_run(facts, out);
  } catch (const Error& e) {
    out["missing"] = fmt::format("the run cannot be planned again here: {}", e.what());
  }
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
