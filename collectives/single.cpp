#include "collectives/single.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "collectives/header.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

// Requests whose `ready`, or a predecessor's, is not marked yet. It outlives the communicator as
// long as such an event does.
class PendingRequests {
 public:
  void push(EventPtr ready, EventPtr done) {
    const std::lock_guard lock(mutex_);
    pending_.push_back({std::move(ready), std::move(done)});
  }

  // Marks what can be marked. One thread at a time does so, without the lock: marking runs
  // callbacks, and those may submit.
  void advance() {
    std::unique_lock lock(mutex_);
    if (advancing_) return;  // the thread that does checks again before it stops
    advancing_ = true;
    while (!pending_.empty() && pending_.front().ready->is_ready()) {
      const Pending next = std::move(pending_.front());
      pending_.pop_front();
      lock.unlock();
      if (const auto error = next.ready->error()) {
        next.done->fail(error);
      } else {
        next.done->set();
      }
      lock.lock();
    }
    advancing_ = false;
  }

 private:
  struct Pending {
    EventPtr ready;
    EventPtr done;
  };
  std::mutex mutex_;
  std::deque<Pending> pending_;
  bool advancing_ = false;
};

class SingleCommunicator final : public Communicator {
 public:
  const Topology& topology() const override { return topology_; }

  EventPtr submit(CollectiveRequest request) override {
    check_request(request, 1);
    if (request.latest_virtual_ns != nullptr) *request.latest_virtual_ns = request.virtual_ns;
    auto done = std::make_shared<Event>();
    push(request.ready != nullptr ? request.ready : Event::completed(), done);
    return done;
  }

  // Like any other collective, it waits for its turn.
  std::vector<std::string> exchange(const std::string&, const std::string& mine) override {
    const auto done = std::make_shared<Event>();
    push(Event::completed(), done);
    done->wait();
    return {mine};
  }

  bool agree(const std::string& tag, const Hash128&) override {
    exchange(tag, {});
    return true;
  }

  void finish() override { exchange("end of the job", {}); }

  [[noreturn]] void abort(int exit_code, const std::string& reason) override {
    fmt::print(stderr, "ended with code {}: {}\n", exit_code, reason);
    std::fflush(nullptr);
    std::_Exit(exit_code);
  }

 private:
  void push(const EventPtr& ready, EventPtr done) {
    pending_->push(ready, std::move(done));
    ready->on_ready([pending = pending_] { pending->advance(); });
  }

  Topology topology_;
  std::shared_ptr<PendingRequests> pending_ = std::make_shared<PendingRequests>();
};

}  // namespace

std::unique_ptr<Communicator> make_single_communicator() {
  return std::make_unique<SingleCommunicator>();
}

}  // namespace lockstep
