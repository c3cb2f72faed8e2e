#include "tests/ranks/delaying.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "core/base/error.h"

namespace lockstep {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

class DelayingCommunicator final : public Communicator {
 public:
  DelayingCommunicator(std::unique_ptr<Communicator> inner, double latency_us,
                       double bandwidth_gb_s)
      : inner_(std::move(inner)),
        latency_us_(latency_us),
        bandwidth_gb_s_(bandwidth_gb_s),
        link_([this] { serve(); }) {}

  ~DelayingCommunicator() override {
    // Unless it has finished, the destruction of the inner communicator marks the events that the
    // link waits for.
    inner_.reset();
    if (link_.joinable()) stop_link();
  }

  const Topology& topology() const override { return inner_->topology(); }

  EventPtr submit(CollectiveRequest request) override {
    const double bytes =
        wire_bytes(request.kind, request.count, size_of(request.dtype), inner_->size());
    return delay(inner_->submit(std::move(request)), bytes);
  }

  std::vector<std::string> exchange(const std::string& tag, const std::string& mine) override {
    std::vector<std::string> all = inner_->exchange(tag, mine);
    std::size_t longest = 0;
    for (const std::string& s : all) longest = std::max(longest, s.size());
    delay(Event::completed(),
          wire_bytes(CollectiveKind::kExchange, static_cast<std::int64_t>(longest), 1, size()))
        ->wait();
    return all;
  }

  bool agree(const std::string& tag, const Hash128& mine) override {
    const bool same = inner_->agree(tag, mine);
    delay(Event::completed(), wire_bytes(CollectiveKind::kAgree, 0, 1, size()))->wait();
    return same;
  }

  void finish() override {
    inner_->finish();
    stop_link();
  }

  std::int64_t bytes_between_nodes() const override { return inner_->bytes_between_nodes(); }

  [[noreturn]] void abort(int exit_code, const std::string& reason) override {
    inner_->abort(exit_code, reason);
    std::terminate();  // not reached; GCC 12 does not see that of a virtual function
  }

 private:
  struct Transfer {
    EventPtr arrived;
    EventPtr done = std::make_shared<Event>();
    SteadyTime::duration duration{};
    /// When `arrived` was marked; written before link_ is notified.
    std::shared_ptr<SteadyTime> arrival = std::make_shared<SteadyTime>();
  };

  /// Returns when all transfers have arrived.
  void stop_link() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    link_.join();
  }

  EventPtr delay(const EventPtr& arrived, double bytes) {
    Transfer transfer;
    transfer.duration = std::chrono::duration_cast<SteadyTime::duration>(
        std::chrono::duration<double, std::micro>(latency_us_ + bytes / bandwidth_gb_s_ * 1e-3));
    EventPtr stamped = std::make_shared<Event>();
    arrived->on_ready([arrived, stamped, arrival = transfer.arrival] {
      *arrival = std::chrono::steady_clock::now();
      if (const auto error = arrived->error()) {
        stamped->fail(error);
      } else {
        stamped->set();
      }
    });
    transfer.arrived = std::move(stamped);
    EventPtr done = transfer.done;
    {
      const std::lock_guard lock(mutex_);
      transfers_.push_back(std::move(transfer));
    }
    changed_.notify_all();
    return done;
  }

  void serve() {
    SteadyTime link_free{};
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || !transfers_.empty(); });
      if (transfers_.empty()) return;
      const Transfer transfer = std::move(transfers_.front());
      transfers_.pop_front();
      lock.unlock();
      transfer.arrived->wait_quietly();
      if (const auto error = transfer.arrived->error()) {
        transfer.done->fail(error);
      } else {
        // Counted from when the link was free, not from when this thread woke up, so that the
        // inaccuracy of sleeping does not add up.
        link_free = std::max(link_free, *transfer.arrival) + transfer.duration;
        std::this_thread::sleep_until(link_free);
        transfer.done->set();
      }
      lock.lock();
    }
  }

  std::unique_ptr<Communicator> inner_;
  double latency_us_;
  double bandwidth_gb_s_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Transfer> transfers_;
  bool stopping_ = false;
  std::thread link_;  // last: it uses all of the above
};

}  // namespace

double wire_bytes(CollectiveKind kind, std::int64_t count, std::size_t width, int ranks) {
  const double bytes = static_cast<double>(count) * static_cast<double>(width);
  const double others = ranks - 1;
  switch (kind) {
    case CollectiveKind::kAllReduce: return 2 * others / ranks * bytes;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kExchange: return others * bytes;
    case CollectiveKind::kBroadcast: return ranks > 1 ? bytes : 0;
    case CollectiveKind::kAgree: return 0;
  }
  __builtin_unreachable();
}

std::unique_ptr<Communicator> make_delaying_communicator(std::unique_ptr<Communicator> inner,
                                                         double latency_us, double bandwidth_gb_s) {
  LS_USER_CHECK(std::isfinite(latency_us) && latency_us >= 0,
                "a network latency of {} us; it must not be negative", latency_us);
  LS_USER_CHECK(bandwidth_gb_s > 0, "a network bandwidth of {} GB/s; it must be positive",
                bandwidth_gb_s);
  return std::make_unique<DelayingCommunicator>(std::move(inner), latency_us, bandwidth_gb_s);
}

}  // namespace lockstep
