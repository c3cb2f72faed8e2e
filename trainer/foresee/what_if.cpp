#include "trainer/foresee/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/observe/ledger.h"
#include "core/observe/ledger_rows.h"
#include "trainer/apps/run_planner.h"
#include "trainer/config/load.h"
#include "trainer/foresee/foresee.h"
#include "trainer/run/saved_run.h"
#include "trainer/statistics/op_statistics.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Where a part of a step counts that is no bundle.
double LedgerStep::*part_of(std::string_view work) {
  constexpr std::array<std::pair<StepPart, double LedgerStep::*>, 7> kParts{
      {{StepPart::kGradientSums, &LedgerStep::sums},
       {StepPart::kAllReduce, &LedgerStep::exposed},
       {StepPart::kIdle, &LedgerStep::idle},
       {StepPart::kInputs, &LedgerStep::inputs},
       {StepPart::kCheckpoint, &LedgerStep::pauses},
       {StepPart::kEvaluation, &LedgerStep::pauses},
       {StepPart::kValueReads, &LedgerStep::pauses}}};
  for (const auto& [part, member] : kParts)
    if (work == name_of(part)) return member;
  return &LedgerStep::dispatch;
}

/// A rank's rows, in seconds.
LedgerStep step_of(const RankProfile& profile) {
  constexpr double kSeconds = 1e-3;
  LedgerStep out;
  for (const LedgerRow& row : profile.rows) {
    const double seconds = kSeconds * row.ms;
    if (row.is_bundle()) {
      WorkTimes& to = row.program == "update" ? out.update : out.gradient;
      for (std::size_t i = 0; i < to.size(); ++i)
        if (name_of(static_cast<WorkClass>(i)) == row.work) to[i] += seconds;
      continue;
    }
    out.*part_of(row.work) += seconds;
  }
  return out;
}

/// The least mean of a logging interval: others hold compilations, or the host waited for a core.
double trace_ms_of(const SavedRun& run) {
  double out = std::numeric_limits<double>::infinity();
  for (const TelemetryRecord& record : run.metrics())
    out = std::min(out, record.trace_ms.value_or(out));
  return std::isfinite(out) ? out : 0;
}

/// A machine whose memory is so many times as quick.
MachineLimits with_memory(MachineLimits limits, double factor) {
  for (MemoryRate& row : limits.memory) {
    row.copy_bytes_per_s *= factor;
    row.triad_bytes_per_s *= factor;
  }
  return limits;
}

/// The run, and what of it changes with the questions.
class Questions {
 public:
  Questions(const std::string& run, std::optional<double> network, const MachineLimits& limits,
            MaxIsa max_isa, const Registry& registry)
      : run_(run), limits_(limits), max_isa_(max_isa), registry_(registry) {
    const SavedRun saved(run);
    const std::vector<RankProfile> profiles = saved.profiles();
    LS_USER_CHECK(!profiles.empty() && profiles[0].steps > 0,
                  "{} has no ledger, which --what-if replays: train it with profile.ledger=true, "
                  "for some steps",
                  run);
    LS_USER_CHECK(static_cast<int>(profiles.size()) == profiles[0].ranks,
                  "{}: the profiles of {} of {} ranks are missing", run,
                  profiles[0].ranks - static_cast<int>(profiles.size()), profiles[0].ranks);
    measured_ = measured_step(profiles, trace_ms_of(saved));
    ranks_ = profiles[0].ranks;
    nodes_ = count_hosts(profiles);
    LS_USER_CHECK(!network || nodes_ > 1,
                  "--network-gbit is of the link between hosts, and {} ran on one", run);
    if (network) link_ = NodeLink{.bytes_per_s = *network};
    config_ = load({});
    before_ = model(config_, limits_);
  }

  WhatIf answer(const std::string& words) {
    const RunChange change = parse_change(words, config_.config);
    if (change.keys.empty() && !change.unfused_optimizer && change.memory_bandwidth == 1)
      return replay(change, measured_, before_, before_, link());
    const LoadedConfig changed = load(change.keys);
    RunModel after = model(changed, with_memory(limits_, change.memory_bandwidth));
    if (change.unfused_optimizer) after.update = unfused_update();
    return replay(change, measured_, before_, after, link());
  }

 private:
  const NodeLink* link() const { return link_ ? &*link_ : nullptr; }

  LoadedConfig load(const std::vector<std::string>& keys) const {
    const std::string file = (std::filesystem::path(run_) / "config.yaml").string();
    return load_config(file, registry_, keys, /*may_go_on=*/true);
  }

  RunModel model(const LoadedConfig& config, const MachineLimits& limits) {
    if (const auto problem = batch_problem(in_any_order(config.config).batch, ranks_))
      raise(ErrorKind::kUsage, "--what-if: {}", *problem);
    RunPlanner planner = planner_for_this_machine(config.config, registry_, max_isa_);
    return model_run(config.config, *planner.plan(config.config).step, limits, ranks_, nodes_);
  }

  /// The update program, each op a kernel.
  WorkTimes unfused_update() {
    RunPlanner planner = planner_for_this_machine(config_.config, registry_, max_isa_, {"fuse"});
    const PlannedRun run = planner.plan(config_.config);
    return model_run(config_.config, *run.step, limits_, ranks_, nodes_).update;
  }

  const std::string& run_;
  const MachineLimits& limits_;
  MaxIsa max_isa_;
  const Registry& registry_;
  LedgerStep measured_;
  int ranks_ = 1, nodes_ = 1;
  std::optional<NodeLink> link_;
  LoadedConfig config_;
  RunModel before_;
};

double percent_of(const WhatIf& answer) {
  return 100 * (answer.after_ms / answer.before_ms - 1);
}

std::string answer_text(const WhatIf& answer) {
  std::string out =
      fmt::format("{}: a step of {:.4g} ms would take {:.4g} ms ({:+.1f} %)", answer.words,
                  answer.before_ms, answer.after_ms, percent_of(answer));
  if (const ChangedPart* most = answer.moved_most())
    out += fmt::format("; what moves most: {} ({:+.4g} ms)", most->name,
                       most->after_ms - most->before_ms);
  out += fmt::format("\n  {:<24} {:>10} {:>10} {:>10}\n", "part", "measured", "changed", "ms more");
  for (const ChangedPart& part : answer.parts)
    out += fmt::format("  {:<24} {:>10.3f} {:>10.3f} {:>+10.3f}\n", part.name, part.before_ms,
                       part.after_ms, part.after_ms - part.before_ms);
  return out;
}

}  // namespace

LedgerStep measured_step(const std::vector<RankProfile>& profiles, double trace_ms) {
  const double share = 1 / static_cast<double>(profiles.size());
  LedgerStep out;
  double least_exposed = std::numeric_limits<double>::max();
  for (const RankProfile& profile : profiles) {
    const LedgerStep one = step_of(profile);
    for (std::size_t i = 0; i < out.gradient.size(); ++i) {
      out.gradient[i] += share * one.gradient[i];
      out.update[i] += share * one.update[i];
    }
    for (double LedgerStep::*part :
         {&LedgerStep::sums, &LedgerStep::waits, &LedgerStep::idle, &LedgerStep::inputs,
          &LedgerStep::dispatch, &LedgerStep::pauses})
      out.*part += share * one.*part;
    out.waits += share * one.exposed;
    least_exposed = std::min(least_exposed, one.exposed);
  }
  // The last rank to come waits for the all-reduce alone.
  out.exposed = least_exposed;
  out.waits -= least_exposed;
  out.host = 1e-3 * trace_ms;
  return out;
}

std::vector<WhatIf> answer_what_if(const std::string& run, const std::vector<std::string>& words,
                                   std::optional<double> network, const MachineLimits& limits,
                                   MaxIsa max_isa, const Registry& registry) {
  Questions questions(run, network, limits, max_isa, registry);
  std::vector<WhatIf> out;
  out.reserve(words.size());
  for (const std::string& each : words) out.push_back(questions.answer(each));
  return out;
}

std::string what_if_text(const std::vector<WhatIf>& answers) {
  std::string out;
  for (const WhatIf& answer : answers) out += (out.empty() ? "" : "\n") + answer_text(answer);
  return out;
}

std::string what_if_json(const std::string& run, const std::vector<WhatIf>& answers) {
  OrderedJson out = {{"run", run}, {"what_if", OrderedJson::array()}};
  for (const WhatIf& answer : answers) {
    OrderedJson parts = OrderedJson::array();
    for (const ChangedPart& part : answer.parts)
      parts.push_back(
          {{"part", part.name}, {"before_ms", part.before_ms}, {"after_ms", part.after_ms}});
    out["what_if"].push_back({{"words", answer.words},
                              {"before_ms", answer.before_ms},
                              {"after_ms", answer.after_ms},
                              {"parts", std::move(parts)}});
  }
  return out.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
