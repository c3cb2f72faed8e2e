#include "trainer/job/profiling.h"

#include <limits>

#include "core/engine/engine.h"
#include "core/runtime/device.h"
#include "core/runtime/plan_cost.h"
#include "trainer/statistics/profile_text.h"
#include "trainer/telemetry/cuts_file.h"

namespace lockstep {
namespace {

constexpr std::size_t kPrintedOps = 20;  ///< the longest

std::string ledger_table(const RankProfile& profile) {
  const std::vector<RankProfile> own{profile};
  if (profile.steps == 0) return "time ledger: no step ran twice\n";
  return fmt::format(
      "time ledger: {}{}longest commands, grouped:\n"
      "{}",
      describe_steps(own),
      describe_rows(own, GroupBy::kClass, std::numeric_limits<std::size_t>::max()),
      describe_rows(own, GroupBy::kOp, kPrintedOps));
}

}  // namespace

Profiling::Profiling(const ProfileConfig& config, Engine& engine, SpanStream& spans,
                     Communicator& communicator, const std::function<MachineLimits()>& limits,
                     Log& log)
    : config_(config), engine_(engine), spans_(spans), communicator_(communicator) {
  if (const std::vector<std::int64_t>& steps = config.trace.steps; !steps.empty()) {
    VirtualClock* const clock =
        config.trace.clock == TraceClock::kVirtual ? engine.device().virtual_clock() : nullptr;
    trace_.emplace(StepWindow{steps.at(0), steps.at(1)}, engine, spans, clock, communicator, log);
  }
  if (!config.ledger) return;
  limits_ = limits();
  const Topology& topology = communicator.topology();
  const BusyCores cores{.threads = engine.device().options().threads,
                        .ranks = static_cast<int>(topology.ranks_of(topology.node()).size())};
  ledger_.emplace(engine.programs(), lower_bounds_of_bundles(limits_, cores));
  spans.listen(*ledger_, Ledger::kKinds);
}

Profiling::~Profiling() {
  if (ledger_) spans_.listen(*ledger_, {});
}

void Profiling::report(const std::string& run_folder, Log& log) const {
  if (ledger_) {
    RankProfile profile = profile_of(*ledger_);
    profile.rank = communicator_.rank();
    profile.ranks = communicator_.size();
    profile.host = communicator_.topology().host_of(profile.rank);
    profile.limits = limits_.origin();
    log.info("{}", ledger_table(profile));
    if (!run_folder.empty()) write_profile(run_folder, profile, log);
  }
  if (const std::string reads = describe_reads(engine_.cuts().rows()); !reads.empty())
    log.info("{}", reads);
  if (!run_folder.empty() && communicator_.is_master_ordinal())
    write_cuts(run_folder + "/cuts.json", engine_.cuts(), log);
  if (config_.metrics_report) log.info("metrics\n{}", spans_.metrics().report());
}

}  // namespace lockstep
