#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/virtual_time/event_rule.h"
#include "trainer/foresee/what_if.h"

namespace lockstep {
namespace {

double sum_of(const WorkTimes& times) {
  return std::accumulate(times.begin(), times.end(), 0.0);
}

/// The links between ranks.
struct Links {
  double seconds_per_byte = 0;
  double all_reduce = 1;  ///< all-reduces take so many times as long, on cores and links

  /// Of a core and a link that wait for each other now and then (core/runtime/step_cost).
  double seconds(const ModelBucket& bucket) const {
    return all_reduce * std::hypot(seconds_per_byte * bucket.bytes, bucket.cores);
  }
};

StepTimes step_by_rule(const LedgerStep& step, const RunModel& model, const Links& links) {
  const auto calls = static_cast<double>(model.micro_batches);
  const double call = sum_of(step.gradient) / calls;
  StepDurations out;
  out.micro_batch_ns = to_ns(call);
  out.update_ns = to_ns(sum_of(step.update));
  for (const ModelBucket& bucket : model.buckets)
    out.buckets.push_back({to_ns(bucket.ready * call), to_ns(links.seconds(bucket))});
  return steady_step(out, model.micro_batches);
}

double exposed_by_rule(const LedgerStep& step, const RunModel& model, const Links& links) {
  return seconds_of(step_by_rule(step, model, links).exposed_ns());
}

/// The links' speed with which the rule exposes what was measured: only that is known of them.
double seconds_per_byte(const LedgerStep& step, const RunModel& model) {
  double bytes = 0;
  for (const ModelBucket& bucket : model.buckets) bytes += bucket.bytes;
  if (bytes == 0 || step.exposed == 0) return 0;
  double low = 0, high = (step.total() + step.exposed) / bytes;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (exposed_by_rule(step, model, {middle}) < step.exposed ? low : high) = middle;
  }
  return high;
}

/// Measured times, as much longer as the model's are. What only the new plan has takes as long as
/// the model says, times what all measured work takes beyond the model.
WorkTimes scaled_by_model(const WorkTimes& measured, const WorkTimes& before,
                          const WorkTimes& after) {
  const double whole = sum_of(before) > 0 ? sum_of(measured) / sum_of(before) : 1;
  WorkTimes out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = after[i] * (before[i] > 0 && measured[i] > 0 ? measured[i] / before[i] : whole);
  return out;
}

double busy(const LedgerStep& step) {
  return step.total() - step.idle - step.inputs;
}

class Replay {
 public:
  Replay(const RunChange& change, const LedgerStep& measured, const RunModel& before,
         const RunModel& after)
      : change_(change), measured_(measured), before_(before), after_(after) {}

  LedgerStep changed() const {
    LedgerStep out = measured_;
    out.gradient = scaled_by_model(measured_.gradient, before_.gradient, after_.gradient);
    out.update = scaled_by_model(measured_.update, before_.update, after_.update);
    for (const auto& [name, factor] : change_.work)
      for (std::size_t i = 0; i < out.gradient.size(); ++i)
        if (name_of(static_cast<WorkClass>(i)) == name) {
          out.gradient[i] *= factor;
          out.update[i] *= factor;
        }
    out.sums = sums();
    // Ranks are late by a share of their own work.
    out.waits *= sum_of(out.gradient) / std::max(sum_of(measured_.gradient), 1e-12);
    out.exposed = exposed_by_rule(
        out, after_,
        {seconds_per_byte(measured_, before_) / change_.bandwidth, change_.all_reduce});
    // The host hides behind the device as far as it did, and the rest of its time is a wait.
    const double hidden_before = std::max(measured_.host - busy(measured_), 0.0);
    const double hidden_after = std::max(measured_.host - busy(out), 0.0);
    out.idle = std::max(measured_.idle + hidden_after - hidden_before, 0.0);
    return out;
  }

 private:
  /// One addition less than there are micro-batches.
  double sums() const {
    const auto additions = [](const RunModel& model) {
      return static_cast<double>(model.micro_batches - 1);
    };
    if (additions(before_) == 0) return measured_.sums + additions(after_) * after_.sums;
    const double size = before_.sums > 0 ? after_.sums / before_.sums : 1;
    return measured_.sums * size * additions(after_) / additions(before_);
  }

  const RunChange& change_;
  const LedgerStep& measured_;
  const RunModel& before_;
  const RunModel& after_;
};

}  // namespace

double LedgerStep::total() const {
  return sum_of(gradient) + sum_of(update) + sums + exposed + waits + idle + inputs + dispatch +
         pauses;
}

const ChangedPart* WhatIf::moved_most() const {
  const ChangedPart* out = nullptr;
  double most = 0;
  for (const ChangedPart& part : parts)
    if (const double moved = std::abs(part.after_ms - part.before_ms); moved > most) {
      most = moved;
      out = &part;
    }
  return out;
}

WhatIf replay(const RunChange& change, const LedgerStep& measured, const RunModel& before,
              const RunModel& after) {
  constexpr double kMs = 1e3;
  const LedgerStep changed = Replay(change, measured, before, after).changed();
  WhatIf out{.words = change.words,
             .before_ms = kMs * measured.total(),
             .after_ms = kMs * changed.total(),
             .parts = {}};
  const auto add = [&](std::string name, double was, double is) {
    if (was > 0 || is > 0) out.parts.push_back({std::move(name), kMs * was, kMs * is});
  };
  for (std::size_t i = 0; i < changed.gradient.size(); ++i)
    add(std::string(name_of(static_cast<WorkClass>(i))), measured.gradient[i] + measured.update[i],
        changed.gradient[i] + changed.update[i]);
  add("gradient sums", measured.sums, changed.sums);
  add("all-reduce", measured.exposed, changed.exposed);
  add("waits for other ranks", measured.waits, changed.waits);
  add("waiting for the host", measured.idle, changed.idle);
  add("waiting for input", measured.inputs, changed.inputs);
  add("dispatch and other", measured.dispatch, changed.dispatch);
  add("pauses", measured.pauses, changed.pauses);
  return out;
}

}  // namespace lockstep
