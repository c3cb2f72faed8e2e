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

/// The links between ranks, and the cores that serve them.
struct Links {
  double seconds_per_byte = 0;
  double cores = 1;       ///< they take so many times as long as the model says
  double all_reduce = 1;  ///< all-reduces take so many times as long, on cores and links

  /// Of a core and a link that wait for each other now and then (core/runtime/step_cost).
  double seconds(const ModelBucket& bucket) const {
    return all_reduce * std::hypot(seconds_per_byte * bucket.bytes, cores * bucket.cores);
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

/// What commands of the gradient program lose to the cores that exchange buckets beside them, as in
/// core/runtime/step_cost: of an all-reduce's time the share that cores take.
double lost_by_rule(const LedgerStep& step, const RunModel& model, const Links& links) {
  double cores = 0, all = 0;
  for (const ModelBucket& bucket : model.buckets) {
    cores += links.all_reduce * links.cores * bucket.cores;
    all += links.seconds(bucket);
  }
  if (all <= 0) return 0;
  return seconds_of(step_by_rule(step, model, links).hidden_ns) * cores / all;
}

void scale(WorkTimes& times, double factor) {
  for (double& seconds : times) seconds *= factor;
}

/// Sets `unknown` of the links to the value in [0, high] with which the rule exposes what was
/// measured.
void fit_to_exposed(const LedgerStep& step, const RunModel& model, double Links::*unknown,
                    double high, Links& links) {
  double low = 0;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    links.*unknown = (low + high) / 2;
    (exposed_by_rule(step, model, links) < step.exposed ? low : high) = links.*unknown;
  }
  links.*unknown = high;
}

/// Of a run. Where the link is known, what it does not explain of the exposed all-reduces is time
/// of cores; else the cores take what the model says, and the rest is the link's.
Links links_of(const LedgerStep& step, const RunModel& model, const NodeLink* link) {
  double bytes = 0, cores = 0;
  for (const ModelBucket& bucket : model.buckets) {
    bytes += bucket.bytes;
    cores += bucket.cores;
  }
  Links out;
  if (bytes == 0 || step.exposed == 0) return out;
  const double all = step.total() + step.exposed;
  if (link == nullptr) {
    fit_to_exposed(step, model, &Links::seconds_per_byte, all / bytes, out);
    return out;
  }
  out.seconds_per_byte = link_seconds(*link, model.sent);
  if (cores > 0) fit_to_exposed(step, model, &Links::cores, all / cores, out);
  return out;
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
         const RunModel& after, const NodeLink* link)
      : change_(change),
        measured_(measured),
        before_(before),
        after_(after),
        links_(links_of(measured, before, link)) {}

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
    share_cores(out);
    out.sums = sums();
    // Ranks are late by a share of their own work.
    out.waits *= sum_of(out.gradient) / std::max(sum_of(measured_.gradient), 1e-12);
    out.exposed = exposed(out);
    // The host hides behind the device as far as it did, and the rest of its time is a wait.
    const double hidden_before = std::max(measured_.host - busy(measured_), 0.0);
    const double hidden_after = std::max(measured_.host - busy(out), 0.0);
    out.idle = std::max(measured_.idle + hidden_after - hidden_before, 0.0);
    return out;
  }

 private:
  static constexpr double kMaxLoss = 0.5;  ///< no more: the two then take turns on one core

  Links changed_links() const {
    Links out = links_;
    out.seconds_per_byte /= change_.bandwidth;
    out.all_reduce = change_.all_reduce;
    return out;
  }

  /// The measured gradient program has lost time to all-reduces: takes that out of the scaled one,
  /// and adds what it loses to the changed ones. A longer program hides more of them, so twice.
  void share_cores(LedgerStep& changed) const {
    const double measured = sum_of(measured_.gradient);
    if (measured <= 0) return;
    WorkTimes alone = changed.gradient;
    scale(alone, 1 - std::min(lost_by_rule(measured_, before_, links_) / measured, kMaxLoss));
    const double sum = sum_of(alone);
    for (int pass = 0; pass < 2 && sum > 0; ++pass) {
      const double lost = lost_by_rule(changed, after_, changed_links());
      changed.gradient = alone;
      scale(changed.gradient, 1 + lost / sum);
    }
  }

  /// What was measured, and what the rule has more or less of it.
  double exposed(const LedgerStep& changed) const {
    const double more = exposed_by_rule(changed, after_, changed_links()) -
                        exposed_by_rule(measured_, before_, links_);
    return std::max(measured_.exposed + more, 0.0);
  }

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
  Links links_;
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
              const RunModel& after, const NodeLink* link) {
  constexpr double kMs = 1e3;
  const LedgerStep changed = Replay(change, measured, before, after, link).changed();
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
