// The Communicator over any Transport: a queue of requests and one communication thread, which
// creates the transport, compares headers, moves data, and closes the transport at the end.
//
// Failure has three grades.
//   A failed `ready` event fails that one collective, on every rank (other ranks: an error of the
//   same kind that names the rank and quotes its error). The ranks stay in step; later collectives
//   go on.
//   A header mismatch, a lost rank or a failed message poisons the communicator: this and all later
//   operations fail with the same kPeer error.
//   abort() ends the job, as the transport understands it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/direct_exchange.h"
#include "collectives/transport.h"
#include "core/base/spans.h"
#include "core/runtime/communicator.h"

namespace lockstep {

class QueuedCommunicator final : public Communicator {
 public:
  /// Starts the communication thread and returns once `connect` has made the transport on it;
  /// rethrows what `connect` throws. `spans` (may be null) gets an all_reduce span for each
  /// all_reduce, reduce_scatter and all_gather.
  explicit QueuedCommunicator(std::function<std::unique_ptr<Transport>()> connect,
                              SpanStream* spans = nullptr);

  /// Carries out what was submitted, says goodbye if the transport asks for it, and closes it.
  /// After a failure, or while an exception unwinds, it waits for nobody: what is pending fails.
  ~QueuedCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  EventPtr submit(CollectiveRequest request) override;
  std::vector<std::string> exchange(const std::string& tag, const std::string& mine) override;
  [[noreturn]] void abort(int exit_code, const std::string& reason) override;

 private:
  struct Job {
    CollectiveRequest request;
    std::string tag;                          ///< exchange only
    std::string mine;                         ///< exchange only
    std::vector<std::string>* all = nullptr;  ///< exchange only: the caller's, who waits for `done`
    EventPtr done = std::make_shared<Event>();
  };
  struct AbortOrder {
    int exit_code;
    std::string reason;
  };
  /// What `ready` callbacks wake; it outlives the communicator, as events may.
  struct Wake {
    std::mutex mutex;
    std::condition_variable changed;
  };

  EventPtr push(Job job);

  // On the communication thread:
  void serve();
  std::optional<Job> next_job();
  void carry_out(const Job& job);
  std::exception_ptr wait_until_ready(const CollectiveRequest& request);
  void move_data(const Job& job, const std::vector<CollectiveHeader>& headers);
  void say_goodbye();
  /// Throws if this rank was told to abort or to give up; may not return at all.
  void check_interrupt();
  std::exception_ptr given_up() const;
  /// Waits for a change, for a few milliseconds at most, then polls for interrupts and lets the
  /// transport make progress. What goes wrong becomes the poison. `lock` is held before and after.
  void idle(std::unique_lock<std::mutex>& lock);

  int rank_ = 0;
  int size_ = 1;
  SpanStream* spans_;
  int exceptions_at_start_ = std::uncaught_exceptions();

  std::shared_ptr<Wake> wake_ = std::make_shared<Wake>();
  // Guarded by wake_->mutex:
  std::deque<Job> queue_;
  bool stopping_ = false;
  bool give_up_ = false;  ///< stopping, and not to wait for other ranks
  std::optional<AbortOrder> abort_order_;
  bool aborted_ = false;  ///< the abort order was carried out and this process is still there

  std::atomic<bool> interrupted_{false};  ///< give_up_ or abort_order_ is set

  // Of the communication thread alone:
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<DirectExchange> algorithms_;
  std::uint64_t sequence_ = 0;
  std::exception_ptr poison_;

  std::thread thread_;
};

}  // namespace lockstep
