#include "trainer/job/profiling.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "core/engine/engine.h"
#include "core/runtime/device.h"
#include "core/runtime/plan_cost.h"
#include "core/virtual_time/virtual_clock.h"
#include "trainer/devices/device_times.h"
#include "trainer/devices/row_times.h"
#include "trainer/job/memory_parts.h"
#include "trainer/statistics/profile_text.h"
#include "trainer/statistics/program_record.h"
#include "trainer/telemetry/cuts_file.h"

namespace lockstep {
namespace {

constexpr std::size_t kPrintedOps = 20;  ///< the longest

/// That of date and time.
class DateClock final : public Clock {
 public:
  std::int64_t now_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

/// Null if the kernel does not count such waits.
std::function<std::int64_t()> core_wait_reader(Device& device) {
  device.synchronize();  // its thread has started, and so is counted
  CoreWait& core_wait = device.core_wait();
  if (!core_wait.read_longest_ns()) return nullptr;
  return [&core_wait] { return core_wait.read_longest_ns().value_or(0); };
}

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
                     VirtualTimeKeepers virtual_time, Log& log)
    : config_(config),
      engine_(engine),
      device_(engine.device()),
      spans_(spans),
      communicator_(communicator),
      virtual_time_(virtual_time) {
  if (const std::vector<std::int64_t>& steps = config.trace.steps; !steps.empty()) {
    const bool is_virtual = config.trace.clock == TraceClock::kVirtual;
    trace_.emplace(StepWindow{steps.at(0), steps.at(1)}, engine, spans,
                   is_virtual ? virtual_time.clock : nullptr, communicator, log);
  }
  if (!config.ledger) return;
  limits_ = limits();
  const Topology& topology = communicator.topology();
  const BusyCores cores{.threads = engine.device().options().threads,
                        .ranks = static_cast<int>(topology.ranks_of(topology.node()).size())};
  CostsOfProgram costs;
  if (virtual_time.device != nullptr)
    costs = [device = virtual_time.device](const CompiledStep& step) {
      return device->costs_of(step);
    };
  ledger_.emplace(engine.programs(), lower_bounds_of_bundles(limits_, cores), Ledger::kMaxPrograms,
                  std::move(costs), core_wait_reader(device_));
  spans.listen(*ledger_, Ledger::kKinds);
  spans.listen(bucket_times_, BucketTimes::kKinds);
}

Profiling::~Profiling() {
  if (!ledger_) return;
  spans_.listen(*ledger_, {});
  spans_.listen(bucket_times_, {});
}

void Profiling::finish() {
  if (trace_) trace_->finish();
  if (!ledger_ || communicator_.topology().nodes() == 1) return;
  const ClockOffset offset = compare_clocks(communicator_, DateClock());
  wall_clock_ = WallClock{.ahead_ms = 1e-6 * static_cast<double>(offset.offset_ns),
                          .uncertainty_ms = 1e-6 * static_cast<double>(offset.uncertainty_ns)};
}

RankProfile Profiling::profile_with(const Ledger& ledger) const {
  RankProfile out = profile_of(ledger);
  out.buckets = bucket_times_.means();
  out.rank = communicator_.rank();
  out.ranks = communicator_.size();
  out.host = communicator_.topology().host_of(out.rank);
  out.wall_clock = wall_clock_;
  out.limits = limits_.origin();
  if (virtual_time_.clock == nullptr || out.rows.empty()) return out;
  const VirtualTotals totals = virtual_time_.clock->totals();
  if (totals.steps == 0) return out;
  fit_virtual_times(totals, out.rows);
  out.simulated = {.device = virtual_time_.device->name(),
                   .steps = totals.steps,
                   .mean_step_ms = 1e-6 * static_cast<double>(totals.all_ns) /
                                   static_cast<double>(totals.steps)};
  return out;
}

void Profiling::write_program(const std::string& run_folder, Log& log) const {
  const std::optional<MeasuredProgram> measured = ledger_ ? ledger_->main_program() : std::nullopt;
  if (!measured) return;
  const Allocator& allocator = device_.allocator();
  ProgramRecord record = record_of(*measured);
  record.peak_bytes = static_cast<std::int64_t>(allocator.peak_bytes());
  record.limit_bytes = static_cast<std::int64_t>(allocator.limit_bytes());
  record.memory =
      memory_parts(*measured->program, {.micro_batches = std::llround(measured->micro_batches),
                                        .steps_in_flight = device_.options().steps_in_flight(),
                                        .batch_room = batch_room_,
                                        .peak_bytes = record.peak_bytes});
  write_program_record(run_folder, record, log);
}

void Profiling::report(const std::string& run_folder, Log& log) const {
  if (ledger_) {
    const RankProfile own = profile_with(*ledger_);
    log.info("{}", ledger_table(own));
    if (!run_folder.empty()) write_profile(run_folder, own, log);
    if (!run_folder.empty() && communicator_.is_master_ordinal()) write_program(run_folder, log);
  }
  if (const std::string reads = describe_reads(engine_.cuts().rows()); !reads.empty())
    log.info("{}", reads);
  if (!run_folder.empty() && communicator_.is_master_ordinal())
    write_cuts(run_folder + "/cuts.json", engine_.cuts(), log);
  if (config_.metrics_report) log.info("metrics\n{}", spans_.metrics().report());
}

}  // namespace lockstep
