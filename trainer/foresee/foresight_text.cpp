#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/metrics.h"
#include "trainer/foresee/answer.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string describe_deployment(const Foresight& foresight) {
  const Deployment& s = foresight.deployment;
  return fmt::format("{} {} in {} {}, {}, {}, {}", s.devices, s.devices == 1 ? "device" : "devices",
                     s.nodes, s.nodes == 1 ? "node" : "nodes", name_of(s.math),
                     name_of(s.execution), name_of(s.parallelism));
}

std::string rate_text(const ForeseenStep& step, const Foresight& foresight) {
  if (step.tokens == 0) return fmt::format("{:.4g} samples/s", foresight.samples_per_s);
  return fmt::format("{:.4g} samples/s, {:.4g} tokens/s", foresight.samples_per_s,
                     foresight.samples_per_s * static_cast<double>(step.tokens));
}

std::string parts_text(const StepTime& time, bool calibrated) {
  std::string out = fmt::format("  {:<24} {:>12} {:>5} {:>12} {:>12} {:>12}\n", "part", "ms", "%",
                                calibrated ? "limit" : "data sheet", "fitted", "assumed");
  for (const TimePart& part : time.parts)
    if (part.seconds > 0)
      out += fmt::format("  {:<24} {:>12.3f} {:>5.1f} {:>12.3f} {:>12.3f} {:>12.3f}\n", part.name,
                         1e3 * part.seconds, 100 * part.seconds / time.seconds,
                         1e3 * part.data_sheet, 1e3 * part.fitted(), 1e3 * part.assumed);
  return out;
}

OrderedJson to_json(const Foresight& foresight, double efficiency) {
  OrderedJson parts = OrderedJson::array();
  for (const TimePart& part : foresight.time.parts)
    parts.push_back({{"part", part.name},
                     {"ms", 1e3 * part.seconds},
                     {"data_sheet_ms", 1e3 * part.data_sheet},
                     {"fitted_ms", 1e3 * part.fitted()},
                     {"assumed_ms", 1e3 * part.assumed}});
  return {{"devices", foresight.deployment.devices},
          {"nodes", foresight.deployment.nodes},
          {"step_ms", 1e3 * foresight.time.seconds},
          {"step_ns", to_ns(foresight.time.seconds)},
          {"low_ms", 1e3 * foresight.low},
          {"high_ms", 1e3 * foresight.high},
          {"given_steps", foresight.given_steps},
          {"given_factor", foresight.given_factor},
          {"samples_per_s", foresight.samples_per_s},
          {"mfu", foresight.time.utilization},
          {"efficiency", efficiency},
          {"communication_ms", 1e3 * foresight.time.all_reduce_seconds},
          {"exposed_ms", 1e3 * foresight.time.exposed_seconds},
          {"parts", parts}};
}

/// Of the rate of the first entry, for each device.
double efficiency(const Foresight& first, const Foresight& foresight) {
  return foresight.samples_per_s / foresight.deployment.devices /
         (first.samples_per_s / first.deployment.devices);
}

std::string rehearsal_text(const Rehearsal& rehearsal, double step_s) {
  std::string out;
  if (const auto& steps = rehearsal.disturbed)
    out += fmt::format(
        "with these disturbances, {} steps simulated: {:.4g} ms on average "
        "({:+.1f} %), {:.4g} to {:.4g}\n",
        steps->steps, 1e3 * steps->mean_s, 100 * (steps->mean_s / step_s - 1), 1e3 * steps->least_s,
        1e3 * steps->most_s);
  if (const auto& saves = rehearsal.saves)
    out += fmt::format(
        "a failure every {:.4g} hours: checkpoint.save_interval {} loses least; "
        "{:.2f} % of the time goes into steps that are kept\n",
        saves->hours_between_failures, saves->interval, 100 * saves->goodput);
  return out;
}

void add_json(const Rehearsal& rehearsal, OrderedJson& to) {
  if (const auto& steps = rehearsal.disturbed)
    to["disturbed"] = {{"steps", steps->steps},
                       {"mean_ms", 1e3 * steps->mean_s},
                       {"least_ms", 1e3 * steps->least_s},
                       {"most_ms", 1e3 * steps->most_s}};
  if (const auto& saves = rehearsal.saves)
    to["saves"] = {{"interval_steps", saves->interval},
                   {"hours_between_failures", saves->hours_between_failures},
                   {"goodput", saves->goodput}};
}

OrderedJson to_json(const Alternative& alternative, std::int64_t limit) {
  return {{"setting", alternative.setting},
          {"bytes", alternative.bytes},
          {"step_ms", 1e3 * alternative.seconds},
          {"fits", alternative.bytes <= limit}};
}

OrderedJson to_json(const MemoryVerdict& verdict) {
  const DeviceMemory& m = verdict.memory;
  OrderedJson out = {{"fits", verdict.fits()},
                     {"bytes", m.total()},
                     {"limit_bytes", verdict.limit},
                     {"parameters", m.parameters},
                     {"optimizer", m.optimizer},
                     {"gradients", m.gradients},
                     {"activations", m.activations},
                     {"gathered", m.gathered},
                     {"batches", m.batches},
                     {"evaluation", m.evaluation},
                     {"host_bytes_of_rank", verdict.host_of_rank},
                     {"host_bytes_of_checkpoints", verdict.host_staging}};
  out["largest_micro_batch"] = nullptr;
  if (verdict.largest_micro_batch)
    out["largest_micro_batch"] = to_json(*verdict.largest_micro_batch, verdict.limit);
  out["others"] = OrderedJson::array();
  for (const Alternative& each : verdict.others)
    out["others"].push_back(to_json(each, verdict.limit));
  return out;
}

}  // namespace

DeviceAnswer answer_for(const LoadedConfig& config, const DeviceProfile& device,
                        const ForeseeOptions& options, const RehearsalOptions& rehearsal,
                        RunPlanner& planner, const Registry& registry) {
  DeviceAnswer out;
  const LoadedConfig settled = settle_micro_batch(config, device, options, planner);
  if (config.config.batch.micro_batch_size == kAutoMicroBatch)
    out.chosen = fmt::format("training.micro_batch_size {}", settled.config.batch.micro_batch_size);
  out.step = foreseen_step(settled.config, planner.plan(settled.config));
  out.scaling = foresee_scaling(out.step, settled, device, options);
  out.rehearsal =
      rehearse(out.asked(), static_cast<std::uint64_t>(settled.config.run.seed), rehearsal);
  out.memory = judge_memory(out.step, settled, device, options, planner, registry);
  return out;
}

std::string foresight_text(const DeviceAnswer& answer) {
  const ForeseenStep& step = answer.step;
  const Foresight& asked = answer.asked();
  std::string out = fmt::format("{}: {}\n", asked.device, describe_deployment(asked));
  if (!answer.chosen.empty()) out += answer.chosen + ", the largest that fits\n";
  out += fmt::format("step {:.4g} ms (80 %: {:.4g} to {:.4g}), {}, {:.1f} % of the peak\n",
                     1e3 * asked.time.seconds, 1e3 * asked.low, 1e3 * asked.high,
                     rate_text(step, asked), 100 * asked.time.utilization);
  if (asked.given_steps > 0)
    out += fmt::format("corrected by {} given {}: times {:.4g}\n", asked.given_steps,
                       asked.given_steps == 1 ? "step" : "steps", asked.given_factor);
  out += parts_text(asked.time, asked.calibrated);
  if (asked.deployment.devices > 1)
    out += fmt::format("communication {:.3f} ms, of which the step waits for {:.3f}\n",
                       1e3 * asked.time.all_reduce_seconds, 1e3 * asked.time.exposed_seconds);
  out += rehearsal_text(answer.rehearsal, asked.time.seconds);
  if (answer.scaling.size() > 1) {
    out += fmt::format("  {:>8} {:>6} {:>12} {:>14} {:>11}\n", "devices", "nodes", "step ms",
                       "samples/s", "efficiency");
    for (const Foresight& each : answer.scaling)
      out += fmt::format("  {:>8} {:>6} {:>12.4g} {:>14.4g} {:>10.1f}%\n", each.deployment.devices,
                         each.deployment.nodes, 1e3 * each.time.seconds, each.samples_per_s,
                         100 * efficiency(answer.scaling.front(), each));
  }
  if (step.steps > 0)
    out += fmt::format("run of {} steps: {:.4g} hours, {:.4g} device hours\n", step.steps,
                       run_hours(step, asked.time),
                       run_hours(step, asked.time) * asked.deployment.devices);
  return out + verdict_text(answer.memory);
}

std::string foresight_json(const std::vector<DeviceAnswer>& answers) {
  OrderedJson out = OrderedJson::object();
  out["devices"] = OrderedJson::array();
  for (const DeviceAnswer& answer : answers) {
    const ForeseenStep& step = answer.step;
    out["parameters"] = step.parameters;
    out["steps"] = step.steps;
    const std::vector<Foresight>& scaling = answer.scaling;
    const Foresight& asked = answer.asked();
    OrderedJson each = {{"device", asked.device},
                        {"math", name_of(asked.deployment.math)},
                        {"execution", name_of(asked.deployment.execution)},
                        {"parallelism", name_of(asked.deployment.parallelism)},
                        {"global_batch_size", asked.global_batch}};
    each.update(to_json(asked, efficiency(scaling.front(), asked)));
    each["run_hours"] = run_hours(step, asked.time);
    each["device_hours"] = run_hours(step, asked.time) * asked.deployment.devices;
    each["scaling"] = OrderedJson::array();
    for (const Foresight& foresight : scaling)
      each["scaling"].push_back({{"devices", foresight.deployment.devices},
                                 {"nodes", foresight.deployment.nodes},
                                 {"step_ms", 1e3 * foresight.time.seconds},
                                 {"samples_per_s", foresight.samples_per_s},
                                 {"efficiency", efficiency(scaling.front(), foresight)}});
    add_json(answer.rehearsal, each);
    each["memory"] = to_json(answer.memory);
    out["devices"].push_back(std::move(each));
  }
  return out.dump(1) + "\n";
}

}  // namespace lockstep
