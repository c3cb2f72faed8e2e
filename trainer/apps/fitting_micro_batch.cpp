#include "trainer/apps/fitting_micro_batch.h"

#include <map>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

/// Blocks of an arena are not packed alike for each size.
constexpr double kPacking = 0.98;

BatchPlan with_size(const BatchConfig& batch, std::int64_t ranks, std::int64_t size) {
  BatchConfig with = batch;
  with.micro_batch_size = size;
  return plan_batch(with, ranks);
}

/// Ascending.
std::vector<std::int64_t> dividing_sizes(const BatchConfig& batch, std::int64_t ranks) {
  std::vector<std::int64_t> out;
  if (batch.global_batch_size % ranks != 0) return out;
  const std::int64_t largest = batch.global_batch_size / ranks;
  for (std::int64_t size = 1; size <= largest; ++size) {
    if (largest % size != 0) continue;
    BatchConfig with = batch;
    with.micro_batch_size = size;
    if (!batch_problem(with, ranks)) out.push_back(size);
  }
  return out;
}

}  // namespace

DeviceBytes rank_bytes(const PlannedRun& run, const BatchPlan& batch) {
  const RunMemory memory = run_memory(run, batch);
  const std::int64_t growing = memory.batches + memory.step.arena + memory.evaluation;
  return {memory.total() - growing, growing};
}

std::optional<FittingMicroBatch> largest_micro_batch(const Config& config, RunPlanner& planner,
                                                     std::int64_t ranks,
                                                     const DeviceBytesOf& bytes_of,
                                                     std::int64_t limit, const PlannedRun* known) {
  std::optional<std::pair<std::int64_t, PlannedRun>> larger;  // the last one planned
  const auto surely_too_large = [&](std::int64_t size) {
    if (!larger) return false;
    const DeviceBytes bytes = bytes_of(larger->second, with_size(config.batch, ranks, size));
    const double share = static_cast<double>(size) / static_cast<double>(larger->first);
    return static_cast<double>(bytes.fixed) +
               kPacking * share * static_cast<double>(bytes.growing) >
           static_cast<double>(limit);
  };
  const std::vector<std::int64_t> sizes = dividing_sizes(config.batch, ranks);
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    if (surely_too_large(*size)) continue;
    Config with = config;
    with.batch.micro_batch_size = *size;
    const bool is_known = known != nullptr && *size == config.batch.micro_batch_size;
    PlannedRun run = is_known ? *known : planner.plan(with);
    const DeviceBytes bytes = bytes_of(run, with_size(config.batch, ranks, *size));
    if (bytes.total() <= limit) return FittingMicroBatch{*size, std::move(run), bytes};
    larger = {*size, std::move(run)};
  }
  return std::nullopt;
}

}  // namespace lockstep
