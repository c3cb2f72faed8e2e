#include "collectives/watched.h"

#include <fmt/format.h>

#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "collectives/header.h"
#include "core/base/phase_scope.h"

namespace lockstep {
namespace {

std::string describe(const CollectiveRequest& request) {
  std::string out(name_of(request.kind));
  if (request.bucket >= 0) out += fmt::format(" bucket {}", request.bucket);
  return out;
}

class WatchedBuffer final : public SharedBuffer {
 public:
  WatchedBuffer(std::unique_ptr<SharedBuffer> inner, Activity activity)
      : inner_(std::move(inner)), activity_(activity) {}

  std::byte* data() const override { return inner_->data(); }
  const std::byte* sums() const override { return inner_->sums(); }
  void wait_until_writable() override {
    const PeerWait wait(activity_, "all_reduce of the previous step");
    inner_->wait_until_writable();
  }

 private:
  std::unique_ptr<SharedBuffer> inner_;
  Activity activity_;
};

class WatchedCommunicator final : public Communicator {
 public:
  WatchedCommunicator(std::unique_ptr<Communicator> inner, Activity activity)
      : inner_(std::move(inner)), activity_(activity) {}

  ~WatchedCommunicator() override {
    // The transport's own disconnection, which the other ranks must reach.
    const PhaseScope phase(activity_, Phase::kDisconnect, -1);
    const PeerWait wait(activity_, "MPI_Finalize");
    inner_.reset();
  }

  const Topology& topology() const override { return inner_->topology(); }

  EventPtr submit(CollectiveRequest request) override {
    Pending pending{describe(request), request.step, nullptr};
    pending.event = inner_->submit(std::move(request));
    const std::lock_guard lock(mutex_);
    while (!pending_.empty() && pending_.front().event->is_ready()) pending_.pop_front();
    pending_.push_back(pending);
    return std::move(pending.event);
  }

  void wait(const EventPtr& event) override {
    if (event->is_ready()) return inner_->wait(event);
    const Pending pending = find(event);
    const PeerWait wait(activity_, pending.what, pending.step);
    inner_->wait(event);
  }

  std::unique_ptr<SharedBuffer> shared_buffer(std::size_t bytes) override {
    const PeerWait wait(activity_, "the allocation of shared memory");
    auto inner = inner_->shared_buffer(bytes);
    if (inner == nullptr) return nullptr;
    return std::make_unique<WatchedBuffer>(std::move(inner), activity_);
  }

  std::vector<std::string> exchange(const std::string& tag, const std::string& mine) override {
    const PeerWait wait(activity_, fmt::format("exchange '{}'", tag));
    return inner_->exchange(tag, mine);
  }

  bool agree(const std::string& tag, const Hash128& mine) override {
    const PeerWait wait(activity_, fmt::format("comparison '{}'", tag));
    return inner_->agree(tag, mine);
  }

  void finish() override {
    const PhaseScope phase(activity_, Phase::kGoodbye, -1);
    const PeerWait wait(activity_, "the goodbye");
    inner_->finish();
  }

  std::int64_t bytes_between_nodes() const override { return inner_->bytes_between_nodes(); }

  [[noreturn]] void abort(int exit_code, const std::string& reason) override {
    inner_->abort(exit_code, reason);
    std::terminate();  // not reached; GCC 12 does not see that of a virtual function
  }

 private:
  struct Pending {
    std::string what;
    std::int64_t step;
    EventPtr event;
  };

  Pending find(const EventPtr& event) {
    const std::lock_guard lock(mutex_);
    for (const Pending& pending : pending_)
      if (pending.event == event) return pending;
    return {"a collective", -1, event};
  }

  std::unique_ptr<Communicator> inner_;
  Activity activity_;
  std::mutex mutex_;
  std::deque<Pending> pending_;  ///< submitted, and perhaps not done
};

}  // namespace

std::unique_ptr<Communicator> make_watched_communicator(std::unique_ptr<Communicator> inner,
                                                        Activity activity) {
  return std::make_unique<WatchedCommunicator>(std::move(inner), activity);
}

}  // namespace lockstep
