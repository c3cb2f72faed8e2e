#include "trainer/profiling.h"

#include "trainer/telemetry/cuts_file.h"
#include "trainer/telemetry/ledger_file.h"

namespace lockstep {
namespace {

constexpr std::size_t kLedgerCommands = 20;  ///< the longest that are printed

}  // namespace

Profiling::Profiling(const ProfileConfig& config, Engine& engine, SpanStream& spans,
                     Communicator& communicator, Log& log)
    : config_(config), engine_(engine), spans_(spans) {
  if (const std::vector<std::int64_t>& steps = config.trace.steps; !steps.empty())
    trace_.emplace(StepWindow{steps.at(0), steps.at(1)}, engine, spans, communicator, log);
  if (!config.ledger) return;
  ledger_.emplace(engine.programs());
  spans.listen(*ledger_, Ledger::kKinds);
}

Profiling::~Profiling() {
  if (ledger_) spans_.listen(*ledger_, {});
}

void Profiling::report(const std::string& run_folder, Log& log) const {
  if (ledger_) {
    log.info("{}", ledger_->table(kLedgerCommands));
    if (!run_folder.empty()) write_ledger(run_folder + "/ledger.json", *ledger_, log);
  }
  if (const std::string reads = engine_.cuts().table(); !reads.empty())
    log.info(
        "values that were read within a step, or while the device had nothing else to do:\n{}"
        "  read them a step or two later, or compute with them in a host_call",
        reads);
  if (!run_folder.empty()) write_cuts(run_folder + "/cuts.json", engine_.cuts(), log);
  if (config_.metrics_report) log.info("metrics\n{}", spans_.metrics().report());
}

}  // namespace lockstep
