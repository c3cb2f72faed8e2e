#include "trainer/profiling.h"

#include "trainer/telemetry/ledger_file.h"

namespace lockstep {
namespace {

constexpr std::size_t kLedgerCommands = 20;  ///< the longest that are printed

}  // namespace

Profiling::Profiling(const ProfileConfig& config, const Engine& engine, SpanStream& spans)
    : config_(config), spans_(spans) {
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
  if (config_.metrics_report) log.info("metrics\n{}", spans_.metrics().report());
}

}  // namespace lockstep
