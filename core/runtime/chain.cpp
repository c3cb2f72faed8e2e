#include "core/runtime/chain.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

using Item = ChainSchedule::Item;

/// Bytes of the memory that an item reads or writes.
struct Access {
  BufferSlice where;
  bool meets(const Access& other) const {
    return where.area == other.where.area && where.index == other.where.index &&
           where.offset < other.where.offset + other.where.bytes &&
           other.where.offset < where.offset + where.bytes;
  }
};

Access part_of(BufferSlice slice, const Extent& extent) {
  const std::int64_t begin = std::min(extent.begin, slice.bytes);
  slice.bytes = std::min(extent.end, slice.bytes) - begin;
  slice.offset += begin;
  return {slice};
}

std::vector<Access> reads_of(const Item& item, const Command& command, const TaskKernel& kernel) {
  std::vector<Access> out;
  for (std::size_t i = 0; i < command.operands.size(); ++i) {
    if (item.kind == Item::Kind::kBegin && kernel.begins_with(i))
      out.push_back(part_of(command.operands[i], {}));
    if (item.kind == Item::Kind::kTask)
      out.push_back(part_of(command.operands[i], kernel.reads(item.task, i)));
  }
  return out;
}

std::vector<Access> writes_of(const Item& item, const Command& command, const TaskKernel& kernel) {
  std::vector<Access> out;
  for (std::size_t k = 0; k < command.results.size(); ++k) {
    if (item.kind == Item::Kind::kFinish && kernel.finishes(k))
      out.push_back(part_of(command.results[k], {}));
    if (item.kind == Item::Kind::kTask && !kernel.finishes(k))
      out.push_back(part_of(command.results[k], kernel.writes(item.task, k)));
  }
  return out;
}

/// The items that are left, and the threads that take them.
class Run {
 public:
  Run(const ChainSchedule& schedule, std::span<const TaskCall> calls, Activity activity,
      const Clock* clock)
      : schedule_(schedule),
        calls_(calls),
        activity_(activity),
        clock_(clock),
        waits_(schedule.waits()),
        ready_(schedule.calls()),
        next_(schedule.calls(), 0),
        left_(schedule.items().size()),
        ns_(clock == nullptr ? 0 : schedule.calls(), 0) {
    for (std::size_t i = 0; i < waits_.size(); ++i)
      if (waits_[i] == 0) add(static_cast<std::int32_t>(i));
  }

  /// Runs on each thread; returns when no item is left to begin.
  void work() {
    std::unique_lock lock(mutex_);
    while (left_ > 0 && !error_) {
      const std::int32_t item = take();
      if (item < 0) {
        changed_.wait(lock);
        continue;
      }
      lock.unlock();
      std::exception_ptr error;
      const std::int64_t begin = clock_ == nullptr ? 0 : clock_->now_ns();
      try {
        run(schedule_.items()[static_cast<std::size_t>(item)]);
      } catch (...) {
        error = std::current_exception();
      }
      const std::int64_t end = clock_ == nullptr ? 0 : clock_->now_ns();
      lock.lock();
      end_item(item, end - begin, error);
    }
  }

  std::vector<std::int64_t> result() {
    if (error_) std::rethrow_exception(error_);
    return std::move(ns_);
  }

 private:
  void run(const Item& item) {
    const TaskCall& call = calls_[static_cast<std::size_t>(item.call)];
    switch (item.kind) {
      case Item::Kind::kBegin: call.kernel.begin(call.call); break;
      case Item::Kind::kTask: call.kernel.run_task(call.call, item.task); break;
      case Item::Kind::kFinish: call.kernel.finish(call.call); break;
    }
    activity_.progress();
  }

  // The functions below run under the lock once threads run.
  void add(std::int32_t item) {
    const Item& what = schedule_.items()[static_cast<std::size_t>(item)];
    ready_[static_cast<std::size_t>(what.call)].push_back(item);
  }

  /// The first ready item of the last call that has any; -1 if there is none.
  std::int32_t take() {
    for (std::size_t call = ready_.size(); call-- > 0;)
      if (next_[call] < ready_[call].size()) return ready_[call][next_[call]++];
    return -1;
  }

  void end_item(std::int32_t item, std::int64_t ns, const std::exception_ptr& error) {
    if (!ns_.empty())
      ns_[static_cast<std::size_t>(schedule_.items()[static_cast<std::size_t>(item)].call)] += ns;
    if (error && !error_) error_ = error;
    --left_;
    for (const std::int32_t follower : schedule_.followers()[static_cast<std::size_t>(item)])
      if (--waits_[static_cast<std::size_t>(follower)] == 0) add(follower);
    changed_.notify_all();
  }

  const ChainSchedule& schedule_;
  std::span<const TaskCall> calls_;
  Activity activity_;
  const Clock* clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int32_t> waits_;
  std::vector<std::vector<std::int32_t>> ready_;  ///< by call, in order of arrival
  std::vector<std::size_t> next_;                 ///< of them
  std::size_t left_;                              ///< items that are not done
  std::vector<std::int64_t> ns_;
  std::exception_ptr error_;
};

}  // namespace

ChainSchedule::ChainSchedule(std::span<const Command> commands,
                             std::span<const TaskKernel* const> kernels)
    : calls_(commands.size()) {
  std::vector<std::vector<Access>> writes;  // by item
  const auto wait_for = [&](std::size_t item, std::size_t earlier) {
    ++waits_[item];
    followers_[earlier].push_back(static_cast<std::int32_t>(item));
  };
  for (std::size_t c = 0; c < commands.size(); ++c) {
    const TaskKernel& kernel = *kernels[c];
    const std::size_t first = items_.size();
    const auto add = [&](Item::Kind kind, std::int64_t task) {
      const std::size_t item = items_.size();
      items_.push_back({kind, static_cast<std::int32_t>(c), task});
      waits_.push_back(0);
      followers_.emplace_back();
      writes.push_back(writes_of(items_.back(), commands[c], kernel));
      const std::vector<Access> reads = reads_of(items_.back(), commands[c], kernel);
      const auto meets = [&](const Access& access) {
        const auto is_met = [&](const Access& other) { return access.meets(other); };
        return std::ranges::any_of(reads, is_met) || std::ranges::any_of(writes[item], is_met);
      };
      for (std::size_t earlier = 0; earlier < first; ++earlier)
        if (std::ranges::any_of(writes[earlier], meets)) wait_for(item, earlier);
      if (kind == Item::Kind::kTask) wait_for(item, first);
      if (kind == Item::Kind::kFinish)
        for (std::size_t own = first; own < item; ++own) wait_for(item, own);
    };
    add(Item::Kind::kBegin, 0);
    for (std::int64_t task = 0; task < kernel.tasks(); ++task) add(Item::Kind::kTask, task);
    add(Item::Kind::kFinish, 0);
  }
}

std::vector<std::int64_t> run_chain(const ChainSchedule& schedule, std::span<const TaskCall> calls,
                                    ThreadPool& pool, Activity activity, const Clock* clock) {
  LS_CHECK(calls.size() == schedule.calls(), "a chain of {} calls is run with {}", schedule.calls(),
           calls.size());
  Run run(schedule, calls, activity, clock);
  pool.parallel_for(pool.threads(), [&](std::int64_t) { run.work(); });
  return run.result();
}

}  // namespace lockstep
