#include "tests/core/virtual_time/tick_by_tick.h"

#include <optional>
#include <utility>

namespace lockstep {
namespace {

class TickByTick {
 public:
  /// `steps[rank][step]`; all ranks have as many steps, with as many buckets.
  TickByTick(const StreamOptions& options, std::vector<std::vector<OracleStep>> steps)
      : options_(options), steps_(std::move(steps)), ranks_(steps_.size()) {
    for (Rank& rank : ranks_) {
      rank.times.resize(count());
      rank.copy_begin.resize(count(), kNever);
      rank.copy_end.resize(count(), kNever);
      rank.fetched.resize(count(), kNever);
      rank.batch_taken.resize(count(), kNever);
      rank.handed_over.resize(count(), kNever);
      rank.left_queue.resize(count(), kNever);
      rank.worker_until.resize(static_cast<std::size_t>(options.loader_workers), 0);
      rank.lost.resize(count(), 0);
    }
    for (std::size_t s = 0; s < count(); ++s)
      reduced_.emplace_back(steps_[0][s].durations.buckets.size(), kNever);
  }

  /// The times of each step on each rank.
  std::vector<std::vector<StepTimes>> run() {
    for (now_ = 0; !all_done(); ++now_) {
      while (settle()) {
      }
      count_interference();
    }
    std::vector<std::vector<StepTimes>> out;
    out.reserve(ranks_.size());
    for (const Rank& rank : ranks_) out.push_back(rank.times);
    return out;
  }

 private:
  static constexpr std::int64_t kNever = -1;
  enum class Stage { kRead, kWork, kTake, kTrace, kHandOver };

  struct Rank {
    std::vector<StepTimes> times;
    // Of the loader and the copies, per batch:
    std::size_t next_fetch = 0, next_copy = 0;
    std::vector<std::int64_t> worker_until, fetched, copy_begin, copy_end;
    // Of the host:
    std::size_t host_step = 0;
    Stage stage = Stage::kRead;
    std::int64_t busy_until = kNever;
    std::vector<std::int64_t> batch_taken, handed_over;
    // Of the stream:
    std::size_t stream_step = 0;
    std::vector<std::int64_t> left_queue;
    std::optional<std::int64_t> begin;
    bool reduced = false;
    std::int64_t stream_free = 0;
    std::vector<std::int64_t> lost;  ///< ticks of all-reduces beside its commands
  };

  std::size_t count() const { return steps_[0].size(); }
  bool past(std::int64_t time) const { return time != kNever && time <= now_; }
  bool all_done() const {
    for (const Rank& rank : ranks_)
      if (rank.stream_step < count()) return false;
    return true;
  }

  /// What happens at this tick without taking time; true if anything did.
  bool settle() {
    bool changed = advance_link();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      changed |= advance_loader(r);
      changed |= advance_copies(r);
      changed |= advance_host(r);
      changed |= advance_stream(r);
    }
    return changed;
  }

  bool advance_loader(std::size_t r) {
    Rank& rank = ranks_[r];
    if (rank.next_fetch == count()) return false;
    const std::size_t n = rank.next_fetch;
    const auto room = static_cast<std::size_t>(options_.prefetch);
    if (n >= room && !past(rank.copy_begin[n - room])) return false;
    for (std::int64_t& until : rank.worker_until) {
      if (until > now_) continue;
      until = now_ + steps_[r][n].fetch_ns;
      rank.fetched[n] = until;
      ++rank.next_fetch;
      return true;
    }
    return false;
  }

  bool advance_copies(std::size_t r) {
    Rank& rank = ranks_[r];
    if (rank.next_copy == count()) return false;
    const std::size_t n = rank.next_copy;
    const auto room = static_cast<std::size_t>(options_.device_prefetch);
    if (!past(rank.fetched[n])) return false;
    if (n > 0 && !past(rank.copy_end[n - 1])) return false;
    if (n >= room && !past(rank.batch_taken[n - room])) return false;
    rank.copy_begin[n] = now_;
    rank.copy_end[n] = now_ + steps_[r][n].copy_ns;
    ++rank.next_copy;
    return true;
  }

  bool advance_host(std::size_t r) {
    Rank& rank = ranks_[r];
    if (rank.host_step == count()) return false;
    const std::size_t n = rank.host_step;
    const OracleStep& step = steps_[r][n];
    const auto work = [&](std::int64_t ns, Stage next) {
      if (rank.busy_until == kNever) rank.busy_until = now_ + ns;
      if (rank.busy_until > now_) return false;
      rank.busy_until = kNever;
      rank.stage = next;
      return true;
    };
    switch (rank.stage) {
      case Stage::kRead: {
        const std::int64_t read = step.reads_step;
        if (read >= 0 && rank.stream_step <= static_cast<std::size_t>(read)) return false;
        rank.stage = Stage::kWork;
        return true;
      }
      case Stage::kWork: return work(step.host_ns, Stage::kTake);
      case Stage::kTake:
        if (!past(rank.copy_begin[n])) return false;
        rank.batch_taken[n] = now_;
        rank.stage = Stage::kTrace;
        return true;
      case Stage::kTrace: return work(step.trace_ns, Stage::kHandOver);
      case Stage::kHandOver: {
        std::size_t waiting = 0;
        for (std::size_t i = 0; i < n; ++i)
          if (!past(rank.left_queue[i])) ++waiting;
        if (waiting >= static_cast<std::size_t>(options_.queue_depth)) return false;
        rank.handed_over[n] = now_;
        rank.stage = Stage::kRead;
        ++rank.host_step;
        return true;
      }
    }
    return false;
  }

  bool advance_stream(std::size_t r) {
    Rank& rank = ranks_[r];
    if (rank.stream_step == count()) return false;
    const std::size_t n = rank.stream_step;
    if (rank.left_queue[n] == kNever) {
      if (!past(rank.handed_over[n]) || !past(rank.stream_free)) return false;
      rank.left_queue[n] = now_;
      return true;
    }
    if (!rank.begin) {
      if (!past(rank.copy_end[n])) return false;
      rank.begin = now_;
      return true;
    }
    StepTimes& times = rank.times[n];
    times.begin_ns = *rank.begin;
    times.computed_ns = computed(r, n);
    if (!past(times.computed_ns)) return false;
    for (const std::int64_t bucket : reduced_[n])
      if (!past(bucket)) return false;
    if (!rank.reduced) {
      rank.reduced = true;
      const StepDurations& durations = steps_[r][n].durations;
      times.reduced_ns = now_ + rank.lost[n] * durations.interference_ppm / 1'000'000;
      times.end_ns = times.reduced_ns + durations.update_ns + durations.waits_ns;
      for (const BucketDuration& bucket : durations.buckets)
        times.all_reduce_ns += bucket.all_reduce_ns;
    }
    if (!past(times.end_ns)) return false;
    rank.stream_free = now_;
    rank.begin.reset();
    rank.reduced = false;
    ++rank.stream_step;
    return true;
  }

  std::int64_t last_begin(std::size_t r, std::size_t n) const {
    const OracleStep& step = steps_[r][n];
    std::int64_t at = ranks_[r].begin.value_or(kNever);
    for (std::int64_t m = 1; m < step.micro_batches; ++m)
      at += step.durations.micro_batch_ns + step.durations.sums_ns;
    return at;
  }
  std::int64_t computed(std::size_t r, std::size_t n) const {
    return last_begin(r, n) + steps_[r][n].durations.micro_batch_ns;
  }

  /// Starts the next all-reduce once all ranks have completed its bucket, and the link is free.
  bool advance_link() {
    if (link_until_ > now_) return false;
    while (link_step_ < count() && link_bucket_ == reduced_[link_step_].size()) {
      ++link_step_;
      link_bucket_ = 0;
    }
    if (link_step_ == count()) return false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].stream_step != link_step_ || !ranks_[r].begin) return false;
      const BucketDuration& bucket = steps_[r][link_step_].durations.buckets[link_bucket_];
      if (last_begin(r, link_step_) + bucket.ready_ns > now_) return false;
    }
    const std::int64_t lasts = steps_[0][link_step_].durations.buckets[link_bucket_].all_reduce_ns;
    link_until_ = now_ + lasts;
    busy_step_ = link_step_;
    reduced_[link_step_][link_bucket_] = link_until_;
    ++link_bucket_;
    return true;
  }

  /// The tick from now_ on.
  void count_interference() {
    if (link_until_ <= now_) return;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (ranks_[r].stream_step == busy_step_ && ranks_[r].begin && computed(r, busy_step_) > now_)
        ++ranks_[r].lost[busy_step_];
  }

  StreamOptions options_;
  std::vector<std::vector<OracleStep>> steps_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<std::int64_t>> reduced_;  ///< end of each bucket's all-reduce, by step
  std::size_t link_step_ = 0, link_bucket_ = 0, busy_step_ = 0;
  std::int64_t link_until_ = 0;
  std::int64_t now_ = 0;
};

}  // namespace

std::vector<std::vector<StepTimes>> run_tick_by_tick(
    const StreamOptions& options, const std::vector<std::vector<OracleStep>>& steps) {
  return TickByTick(options, steps).run();
}

}  // namespace lockstep
