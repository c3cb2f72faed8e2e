#include "trainer/config/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "trainer/config/batch_plan.h"
#include "trainer/config/group_values.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

/// A new run moves an earlier run of its name aside: that folder must never hold anything else.
void check_run_name(const Config& c, const ReportProblem& report) {
  const std::string& name = c.run.name;
  if (name == "." || name == ".." || name.find('/') != std::string::npos) {
    report({"run.name"},
           fmt::format("'run.name' must be the name of a folder inside run.dir, not '{}'", name));
  }
}

void check_run_length(const Config& c, const ReportProblem& report) {
  if (c.length.max_steps == -1 && (c.length.max_epochs == -1)) {
    report({"training.max_steps", "training.max_epochs"},
           "missing required key 'training.max_steps' or 'training.max_epochs': without them the "
           "run would never end");
  }
  if (c.length.max_epochs == 0) {
    report({"training.max_epochs"},
           "'training.max_epochs' must be at least 1, or -1 for no limit; training.max_steps: 0 "
           "saves an initialized model");
  }
}

/// "text, tokens or synthetic": the data that such a model can be trained on.
std::string datasets_that_give(const std::string& inputs, const Registry& registry) {
  std::vector<std::string_view> names;
  for (const DatasetRow& row : registry.datasets())
    if (row.can_give(inputs)) names.push_back(row.name);
  if (names.empty()) return fmt::format("'{}', which no dataset has", inputs);
  const std::string_view last = names.back();
  names.pop_back();
  return names.empty() ? std::string(last) : fmt::format("{} or {}", fmt::join(names, ", "), last);
}

/// Data that is made for the model's vocabulary has none to give to it.
void check_vocabulary(const DataNeeds& needs, const DatasetRow& data, const Config& c,
                      const ReportProblem& report) {
  if (!data.takes_vocabulary || needs.vocab_key.empty() || needs.vocab_size > 0 ||
      c.tokenizer.type != TokenizerType::kNone)
    return;
  report({needs.vocab_key, "tokenizer.type", "model.name", "data.type"},
         fmt::format("missing required key '{}': {} data has no tokenizer to take it from",
                     needs.vocab_key, data.name));
}

void check_model_and_data(const Config& c, const Registry& registry, const ReportProblem& report) {
  if (c.model.name.empty() || c.data.type.empty()) return;  // not given
  const ModelRow& model = registry.at(c.model);
  const DatasetRow& data = registry.at(c.data);
  model.check(c.model.keys, c, report);
  const DataNeeds needs = model.needs(c.model.keys);
  check_vocabulary(needs, data, c, report);
  if (data.can_give(needs.inputs)) return data.check(c.data.keys, c, report);
  report({"data.type", "model.name"},
         fmt::format("model '{}' cannot train on {} data; it takes {}", model.name, data.name,
                     datasets_that_give(needs.inputs, registry)));
}

void check_lengths(const Config& c, const ReportProblem& report) {
  const std::vector<std::int64_t>& buckets = c.data.buckets;
  if (std::ranges::adjacent_find(buckets, std::ranges::greater_equal()) != buckets.end())
    report({"data.buckets"}, fmt::format("'data.buckets' must be in ascending order, not [{}]",
                                         fmt::join(buckets, ", ")));
  const std::int64_t window = c.data.group_by_length;
  if (window > 0 && window < c.batch.global_batch_size)
    report({"data.group_by_length", "training.global_batch_size"},
           fmt::format("'data.group_by_length' {} must be 0 or at least "
                       "'training.global_batch_size' {}, better 50 times it",
                       window, c.batch.global_batch_size));
  if (window > 0 && !c.data.shuffle)
    report({"data.group_by_length", "data.shuffle"},
           "'data.group_by_length' is for a shuffled order, which 'data.shuffle: false' forbids");
}

void check_optimizer(const Config& c, const Registry& registry, const ReportProblem& report) {
  const OptimizerRow& row = registry.at(c.optimizer);
  row.check(c.optimizer.keys.empty() ? row.defaults : c.optimizer.keys, c, report);
}

void check_schedule(const Config& c, const Registry& registry, const ReportProblem& report) {
  // Keys that the schedule does not use have their defaults.
  const SchedulerConfig& s = c.scheduler;
  const double peak = registry.make_optimizer(c.optimizer).learning_rate();
  if (s.min_lr > peak && s.name != SchedulerName::kConstant) {
    report(
        {"scheduler.min_lr", "optimizer.learning_rate", "scheduler.name"},
        fmt::format("'scheduler.min_lr' {} is above 'optimizer.learning_rate' {}", s.min_lr, peak));
  }
  const std::int64_t falling = s.name == SchedulerName::kWsd ? s.cooldown_steps : 0;
  if (s.decay_steps > 0 && s.warmup_steps > s.decay_steps) {
    report({"scheduler.warmup_steps", "scheduler.decay_steps", "scheduler.name"},
           fmt::format("'scheduler.warmup_steps' {} is beyond 'scheduler.decay_steps' {}",
                       s.warmup_steps, s.decay_steps));
  } else if (s.decay_steps > 0 && s.warmup_steps + falling > s.decay_steps) {
    report(
        {"scheduler.cooldown_steps", "scheduler.decay_steps", "scheduler.name"},
        fmt::format("'scheduler.cooldown_steps' {} and 'scheduler.warmup_steps' {} are more than "
                    "'scheduler.decay_steps' {}",
                    falling, s.warmup_steps, s.decay_steps));
  }
  if (s.name == SchedulerName::kStep && s.milestones.empty())
    report(
        {"scheduler.milestones", "scheduler.name"},
        "'scheduler.name: step' needs 'scheduler.milestones', the steps at which the rate falls");
  if (std::ranges::adjacent_find(s.milestones, std::ranges::greater_equal()) != s.milestones.end())
    report({"scheduler.milestones"},
           fmt::format("'scheduler.milestones' must be in ascending order, not [{}]",
                       fmt::join(s.milestones, ", ")));
  if (s.name == SchedulerName::kPlateau && c.eval.interval == 0)
    report({"scheduler.name", "eval.interval"},
           "'scheduler.name: plateau' compares evaluations, but 'eval.interval: 0' makes none");
}

void check_best_metric(const Config& c, const ReportProblem& report) {
  if (c.eval.interval == 0 && c.early_stopping.patience > 0) {
    report({"early_stopping.patience", "eval.interval"},
           "'early_stopping.patience' counts evaluations, but 'eval.interval: 0' makes none");
  }
  if (c.eval.interval == 0 && c.checkpoint.keep_best) {
    report({"checkpoint.keep_best", "eval.interval"},
           "'checkpoint.keep_best' compares evaluations, but 'eval.interval: 0' makes none");
  }
  if (!c.early_stopping.metric.starts_with("eval/")) {
    report({"early_stopping.metric"},
           fmt::format("'early_stopping.metric' must be eval/<name>, as in eval/loss, not '{}'",
                       c.early_stopping.metric));
  }
}

void check_metrics(const Config& c, const Registry& registry, const ReportProblem& report) {
  try {
    (void)registry.make_evaluators(c.eval.metrics);
  } catch (const Error& e) {
    report({"eval.metrics"}, fmt::format("'eval.metrics': {}", e.what()));
  }
}

void check_beams(const Config& c, const ReportProblem& report) {
  const SampleConfig& s = c.sample;
  if (s.num_beams > 1 && s.num_samples > s.num_beams) {
    report({"sample.num_samples", "sample.num_beams"},
           fmt::format("'sample.num_samples' {} is above 'sample.num_beams' {}: beam search has as "
                       "many continuations as beams",
                       s.num_samples, s.num_beams));
  }
}

void check_stall_times(const Config& c, const ReportProblem& report) {
  if (c.distributed.stall_warn_s >= c.distributed.stall_abort_s) {
    report({"distributed.stall_warn_s", "distributed.stall_abort_s"},
           fmt::format("'distributed.stall_warn_s' {} must be below 'distributed.stall_abort_s' {}",
                       c.distributed.stall_warn_s, c.distributed.stall_abort_s));
  }
}

void check_trace(const Config& c, const ReportProblem& report) {
  const std::vector<std::int64_t>& steps = c.profile.trace.steps;
  if (steps.empty() && c.profile.trace.clock == TraceClock::kVirtual)
    report({"profile.trace.clock"},
           "'profile.trace.clock' has no effect without 'profile.trace.steps'");
  if (steps.empty() || (steps.size() == 2 && steps[0] <= steps[1])) return;
  report({"profile.trace.steps"},
         fmt::format("'profile.trace.steps' must be the first and the last step to trace, as in "
                     "[100, 110], not [{}]",
                     fmt::join(steps, ", ")));
}

/// Words that mean on or off in other programs would be the names of folders here.
void check_compile_cache(const Config& c, const ReportProblem& report) {
  const std::string& choice = c.device.compile_cache;
  if (choice == "off" || choice == "auto") return;
  std::string word = choice;
  std::ranges::transform(word, word.begin(), [](unsigned char x) { return std::tolower(x); });
  const auto is_one_of = [&](const auto& words) {
    return std::ranges::find(words, word) != words.end();
  };
  constexpr std::array<std::string_view, 9> kOff = {"off", "none",     "no",      "false", "null",
                                                    "0",   "disabled", "disable", "never"};
  constexpr std::array<std::string_view, 8> kOn = {"auto", "on",      "yes",    "true",
                                                   "1",    "enabled", "enable", "default"};
  const bool off = is_one_of(kOff);
  if (!off && !is_one_of(kOn)) return;
  report({"device.compile_cache"},
         fmt::format("'device.compile_cache' must be a folder, auto or off, not '{0}'; did you "
                     "mean '{1}'? A folder of that name is ./{0}",
                     choice, off ? "off" : "auto"));
}

/// Without a device to simulate these keys would be without effect.
void check_virtual_time(const Config& c, const ReportProblem& report) {
  if (!c.device.profile.empty()) return;
  const auto refuse = [&](bool given, const char* key) {
    if (given)
      report({key}, fmt::format("'{}' has no effect without 'device.profile', the device that is "
                                "simulated; lockstep devices lists them",
                                key));
  };
  const HostCosts none;
  refuse(!c.device.simulate.empty(), "device.simulate");
  refuse(c.distributed.simulated_nodes > 0, "distributed.simulated_nodes");
  refuse(c.distributed.simulated_ranks_per_device > 1, "distributed.simulated_ranks_per_device");
  refuse(c.device.host.time != none.time, "device.host.time");
  refuse(c.profile.trace.clock == TraceClock::kVirtual, "profile.trace.clock");
}

/// Only stated times are read, or the factor of measured ones.
void check_host_time(const Config& c, const ReportProblem& report) {
  const HostCosts& host = c.device.host;
  const HostCosts none;
  const auto refuse = [&](bool given, const char* key, const char* time) {
    if (given)
      report({key}, fmt::format("'{}' has an effect only with 'device.host.time: {}'", key, time));
  };
  refuse(host.factor != none.factor && host.time != HostTime::kMeasured, "device.host.factor",
         "measured");
  const bool stated = host.time == HostTime::kStated;
  refuse(host.step_ms != none.step_ms && !stated, "device.host.step_ms", "stated");
  refuse(host.sample_ms != none.sample_ms && !stated, "device.host.sample_ms", "stated");
  refuse(host.compile_ms != none.compile_ms && !stated, "device.host.compile_ms", "stated");
  refuse(host.save_ms != none.save_ms && !stated, "device.host.save_ms", "stated");
}

void check_batch_sizes(const Config& c, const ReportProblem& report) {
  if (c.batch.global_batch_size < 1 || c.batch.micro_batch_size < 1) return;  // not given
  constexpr std::int64_t kAnyRanks = 1;  // the number of ranks is known only when the job starts
  if (auto problem = batch_problem(c.batch, kAnyRanks)) {
    report({"training.global_batch_size", "training.micro_batch_size"}, std::move(*problem));
  }
}

}  // namespace

void check_config(const Config& config, const Registry& registry, const ReportProblem& report) {
  check_run_name(config, report);
  check_run_length(config, report);
  check_model_and_data(config, registry, report);
  check_lengths(config, report);
  check_optimizer(config, registry, report);
  check_groups(config, registry, report);
  check_schedule(config, registry, report);
  check_best_metric(config, report);
  check_metrics(config, registry, report);
  check_stall_times(config, report);
  check_beams(config, report);
  check_session(config, report);
  check_batch_sizes(config, report);
}

void check_session(const Config& config, const ReportProblem& report) {
  check_trace(config, report);
  check_compile_cache(config, report);
  check_virtual_time(config, report);
  check_host_time(config, report);
}

}  // namespace lockstep
