#include "trainer/config/batch_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/reduce_tree.h"

namespace lockstep {
namespace {

struct Setting {
  std::int64_t global_batch_size;
  std::int64_t micro_batch_size;
  std::int64_t ranks;
  bool deterministic;

  bool works() const {
    if (global_batch_size % micro_batch_size != 0) return false;
    const std::int64_t micro_batches = global_batch_size / micro_batch_size;
    return micro_batches % ranks == 0 &&
           (!deterministic || ranks_own_subtrees(micro_batches, ranks));
  }
};

/// The nearest values below and above Setting::*field that work, if the other settings are kept.
std::vector<std::int64_t> nearest(const Setting& setting, std::int64_t Setting::*field,
                                  std::int64_t step, std::int64_t limit) {
  const auto works = [&](std::int64_t value) {
    Setting changed = setting;
    changed.*field = value;
    return changed.works();
  };
  std::vector<std::int64_t> out;
  const std::int64_t floor = setting.*field / step * step;
  std::int64_t below = floor == setting.*field ? floor - step : floor;
  while (below > 0 && !works(below)) below -= step;
  if (below > 0) out.push_back(below);
  std::int64_t above = floor + step;
  while (above <= limit && !works(above)) above += step;
  if (above <= limit) out.push_back(above);
  return out;
}

/// "global_batch_size 8 or 12, micro_batch_size 2 or 5, 2 or 4 ranks"
std::string nearest_settings(const Setting& s) {
  // A complete subtree of twice the micro-batches, or a multiple of all ranks, lies within this
  // distance.
  const std::int64_t largest_batch =
      4 * std::max(s.global_batch_size, s.micro_batch_size * s.ranks);
  std::vector<std::string> out;
  const auto batches = nearest(s, &Setting::global_batch_size, s.micro_batch_size, largest_batch);
  if (!batches.empty())
    out.push_back(fmt::format("global_batch_size {}", fmt::join(batches, " or ")));
  const auto micros = nearest(s, &Setting::micro_batch_size, 1, s.global_batch_size);
  if (!micros.empty()) out.push_back(fmt::format("micro_batch_size {}", fmt::join(micros, " or ")));
  const auto ranks = nearest(s, &Setting::ranks, 1, s.global_batch_size / s.micro_batch_size);
  if (!ranks.empty()) {
    const char* noun = ranks.size() == 1 && ranks[0] == 1 ? "rank" : "ranks";
    out.push_back(fmt::format("{} {}", fmt::join(ranks, " or "), noun));
  }
  return fmt::format("; nearest that work: {}", fmt::join(out, ", "));
}

BatchPlan divide(const BatchConfig& batch, std::int64_t ranks) {
  LS_CHECK(batch.micro_batch_size != kAutoMicroBatch,
           "the size of micro-batches is not chosen yet");
  const std::int64_t micro_batches = batch.global_batch_size / batch.micro_batch_size;
  return {batch.global_batch_size, batch.micro_batch_size, micro_batches, ranks,
          micro_batches / ranks};
}

}  // namespace

std::string BatchPlan::to_string() const {
  return fmt::format("batch {} = micro-batch size {} x micro-batches {} (ranks {} x {})",
                     global_batch_size, micro_batch_size, micro_batches, ranks,
                     micro_batches_per_rank);
}

std::optional<std::string> batch_problem(const BatchConfig& b, std::int64_t ranks, SettingsOf of) {
  if (b.micro_batch_size == kAutoMicroBatch)  // one micro-batch a rank is a complete subtree
    return batch_problem({b.global_batch_size, 1, false}, ranks, of);
  const Setting setting{b.global_batch_size, b.micro_batch_size, ranks, b.deterministic};
  if (setting.works()) return std::nullopt;
  const std::string remedy = nearest_settings(setting);
  if (b.global_batch_size % b.micro_batch_size != 0) {
    return fmt::format("'{}' {} is not a multiple of micro_batch_size {}{}",
                       setting_name(of, "training.global_batch_size"), b.global_batch_size,
                       b.micro_batch_size, remedy);
  }
  const std::int64_t micro_batches = b.global_batch_size / b.micro_batch_size;
  const std::string batch = fmt::format("batch {} = micro-batch size {} x micro-batches {}",
                                        b.global_batch_size, b.micro_batch_size, micro_batches);
  if (micro_batches % ranks != 0) {
    return fmt::format("{} does not divide over {} ranks{}", batch, ranks, remedy);
  }
  return fmt::format(
      "{} gives {} micro-batches to each of {} ranks, but with '{}: true' that must be a power of "
      "two{}, or deterministic: false",
      batch, micro_batches / ranks, ranks, setting_name(of, "training.deterministic"), remedy);
}

void check_batch(const LoadedConfig& loaded, std::int64_t ranks) {
  LS_CHECK(ranks >= 1, "{} ranks", ranks);
  if (const auto problem = batch_problem(loaded.config.batch, ranks))
    raise(ErrorKind::kUsage, "{}: {}", loaded.where("training.global_batch_size"), *problem);
}

BatchPlan plan_batch(const LoadedConfig& loaded, std::int64_t ranks) {
  check_batch(loaded, ranks);
  return divide(loaded.config.batch, ranks);
}

BatchPlan plan_batch(const BatchConfig& batch, std::int64_t ranks) {
  if (const auto problem = batch_problem(batch, ranks, SettingsOf::kProgram))
    raise(ErrorKind::kUsage, "{}", *problem);
  return divide(batch, ranks);
}

}  // namespace lockstep
