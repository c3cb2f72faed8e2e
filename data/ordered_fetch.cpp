#include "data/ordered_fetch.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/base/error.h"

namespace lockstep {

struct OrderedFetch::Group {
  explicit Group(std::size_t parts) : batches(parts), errors(parts), pending(parts) {}
  std::vector<HostBatch> batches;          // each element is written by one worker
  std::vector<std::exception_ptr> errors;  // likewise
  std::size_t pending;                     // guarded by Workers::mutex
};

struct OrderedFetch::Workers {
  explicit Workers(int threads) : pool(static_cast<std::size_t>(threads)) {}
  ~Workers() {
    pool.stop();  // parts not yet begun are dropped
    pool.join();
  }
  std::mutex mutex;
  std::condition_variable finished;
  std::deque<std::shared_ptr<Group>> groups;  // used only by next()'s thread
  boost::asio::thread_pool pool;              // last: joined before the rest is destroyed
};

OrderedFetch::OrderedFetch(Fetch fetch, const Options& options)
    : fetch_(std::move(fetch)), options_(options), next_(options.first), started_(options.first) {
  LS_USER_CHECK(options.workers >= 0,
                "the number of loader workers must not be negative, but is {}", options.workers);
  LS_USER_CHECK(options.parts >= 1, "a loader needs at least one micro-batch, not {}",
                options.parts);
  if (options.workers == 0) return;
  LS_USER_CHECK(options.prefetch >= 1,
                "loader_prefetch_size must be at least 1 when there are workers, not {}",
                options.prefetch);
  try {
    work_ = std::make_unique<Workers>(options.workers);
  } catch (const boost::system::system_error& e) {  // Asio's own type of error
    throw std::system_error(e.code().value(), std::generic_category(), "the loader's threads");
  }
  start_groups();
}

OrderedFetch::~OrderedFetch() = default;

void OrderedFetch::run_part(Group& group, std::int64_t number, std::int64_t part) {
  const auto slot = static_cast<std::size_t>(part);
  try {
    const ForeignCall get(options_.activity, "Dataset::get");
    group.batches[slot] = fetch_(number, part);
  } catch (...) {
    group.errors[slot] = std::current_exception();
  }
}

void OrderedFetch::start_groups() {
  while (started_ < next_ + options_.prefetch && (!options_.end || started_ < *options_.end)) {
    auto group = std::make_shared<Group>(static_cast<std::size_t>(options_.parts));
    work_->groups.push_back(group);
    for (std::int64_t part = 0; part < options_.parts; ++part) {
      boost::asio::post(work_->pool, [this, group, number = started_, part] {
        run_part(*group, number, part);
        const std::lock_guard lock(work_->mutex);
        if (--group->pending == 0) work_->finished.notify_one();
      });
    }
    ++started_;
  }
}

std::vector<HostBatch> OrderedFetch::next() {
  if (failure_) std::rethrow_exception(failure_);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): without an end there is a next
  LS_CHECK(has_next(), "a loader was read past its end, {}", *options_.end);
  std::shared_ptr<Group> group;
  if (work_ == nullptr) {
    group = std::make_shared<Group>(static_cast<std::size_t>(options_.parts));
    for (std::int64_t part = 0; part < options_.parts; ++part) run_part(*group, next_, part);
  } else {
    group = work_->groups.front();
    std::unique_lock lock(work_->mutex);
    work_->finished.wait(lock, [&] { return group->pending == 0; });
    work_->groups.pop_front();
  }
  for (const std::exception_ptr& error : group->errors) {
    if (error) {
      failure_ = error;
      std::rethrow_exception(error);
    }
  }
  ++next_;
  if (work_ != nullptr) start_groups();
  return std::move(group->batches);
}

}  // namespace lockstep
