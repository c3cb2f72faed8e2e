// The Communicator over any Transport: a queue of requests, and the rule that selects the thread
// that carries them out.
//
// Collectives are carried out one at a time, in the order of submission, by the thread that drives
// the queue. The communication thread made the transport and owns it, so it drives every collective
// that needs messages. A sum in memory that the ranks of one node share needs none. If the
// communication thread has a core of its own, it drives such sums too. Otherwise the threads that
// submit and wait drive them, as far as their own work allows, so that no hand-over costs time. The
// communication thread takes a request that no thread has taken for a few milliseconds.
//
// There are three levels of failure.
//   A failed `ready` event fails that one collective on every rank (other ranks get an error of
//   the same kind that names the rank and quotes its error). The ranks stay in step; later
//   collectives go on.
//   A header mismatch, carried digests that differ, a lost rank or a failed message poison the
//   communicator: this and all later operations fail with the same error.
//   abort() ends the job through the transport.
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

#include "collectives/participant.h"
#include "collectives/transport.h"
#include "core/base/clock.h"
#include "core/runtime/communicator.h"

namespace lockstep {

struct QueueOptions {
  ParticipantOptions participant = {};
  /// Threads of a rank that compute. If its node has too few cores for these and a communication
  /// thread of every rank, sums in shared memory are left to the threads that submit and wait.
  int busy_threads = 1;
};

class QueuedCommunicator final : public Communicator {
 public:
  /// Starts the communication thread and returns once `connect` has made the transport on it;
  /// rethrows what `connect` throws, and the errors of Participant.
  explicit QueuedCommunicator(std::function<std::unique_ptr<Transport>()> connect,
                              const QueueOptions& options = {});
  ~QueuedCommunicator() override;

  const Topology& topology() const override { return topology_; }
  EventPtr submit(CollectiveRequest request) override;
  void wait(const EventPtr& event) override;
  std::unique_ptr<SharedBuffer> shared_buffer(std::size_t bytes) override;
  std::vector<std::string> exchange(const std::string& tag, const std::string& mine) override;
  bool agree(const std::string& tag, const Hash128& mine) override;
  void finish() override;
  std::int64_t bytes_between_nodes() const override { return transport_->bytes_between_nodes(); }
  [[noreturn]] void abort(int exit_code, const std::string& reason) override;

 private:
  /// The result of an exchange or agreement; owned by the caller, which waits for it.
  struct Answer {
    std::vector<std::string> all;
    bool same = true;
  };
  struct Job {
    CollectiveRequest request;
    std::string mine;          ///< exchange only
    Answer* answer = nullptr;  ///< exchange and agreement only
    EventPtr done = std::make_shared<Event>();
    SharedRegion* region = nullptr;  ///< the region that holds the data; null if it is not shared
    CollectiveHeader header{};
    bool needs_messages = true;
    bool digests_differ = false;  ///< to be reported once details have been exchanged
    std::int64_t submitted_ns = 0;
  };
  struct AbortOrder {
    int exit_code;
    std::string reason;
  };
  /// The state that `ready` callbacks wake; it outlives the communicator, as events may.
  struct Wake {
    std::mutex mutex;
    std::condition_variable changed;
  };
  using Lock = std::unique_lock<std::mutex>;  ///< of wake_->mutex
  using Takes = std::function<bool(const Job&)>;

  void connect(const std::function<std::unique_ptr<Transport>()>& make_transport,
               const QueueOptions& options);
  EventPtr push(Job job);
  Answer ask(CollectiveKind kind, const std::string& tag, const std::string& mine,
             const Hash128& digest);
  bool post(const CollectiveHeader& header);

  // One thread at a time drives; it has set driving_.
  /// Carries out jobs while `takes` accepts the first one; then, if `completes`, waits for the
  /// other ranks' parts of its sums.
  void drive(Lock& lock, const Takes& takes, bool completes);
  void progress(Job job);
  CollectiveVerdict exchange_headers(const Job& job);
  void sum_in_shared_memory(Job job);
  void move_data(const Job& job, const CollectiveVerdict& verdict);
  [[noreturn]] void tell_difference(const Job& job);
  /// Puts the job back at the head of the queue: the rest of it needs messages.
  void leave_to_own_thread(Job job);
  std::exception_ptr wait_until_ready(const CollectiveRequest& request);
  void complete(const Job& job);
  void complete_sums();
  /// Throws if this job or this rank is lost. Called during waits for other ranks.
  void check_on_job();
  bool on_own_thread() const { return std::this_thread::get_id() == thread_id_; }

  // On the communication thread:
  void serve();
  bool wait_for_work(Lock& lock);
  /// Throws if this rank was ordered to abort or give up; may not return at all.
  void check_interrupt();
  /// Waits for a change, for a few milliseconds at most, then polls for interrupts and lets the
  /// transport make progress. An error here becomes the poison. `lock` is held before and after.
  void idle(Lock& lock);

  void stop(bool give_up);
  std::exception_ptr given_up() const;
  /// The error that poisoned the communicator; null if there is none. From any thread.
  std::exception_ptr poison() const;
  void poison_with(std::exception_ptr error);

  const SteadyClock clock_;
  Topology topology_;
  bool own_core_ = true;  ///< the communication thread need not wait for others to do its work
  std::shared_ptr<SharedArena> arena_;  ///< null if ranks share no memory

  std::shared_ptr<Wake> wake_ = std::make_shared<Wake>();
  // Guarded by wake_->mutex:
  std::deque<Job> queue_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t next_post_ = 0;  ///< headers before this one are posted
  bool driving_ = false;
  bool stopping_ = false;
  bool give_up_ = false;  ///< stopping, without waiting for other ranks
  std::optional<AbortOrder> abort_order_;
  bool aborted_ = false;  ///< the abort order was carried out, but this process still runs

  std::atomic<bool> interrupted_{false};  ///< give_up_ or abort_order_ is set
  mutable std::mutex poison_mutex_;
  std::exception_ptr poison_;

  // Of the thread that drives:
  std::vector<Job> summed_;  ///< this rank's part is done; the others' may not be

  const std::function<void()> interrupt_ = [this] { check_interrupt(); };
  std::unique_ptr<Transport> transport_;  ///< the communication thread's, but its byte counter
  std::unique_ptr<Participant> participant_;

  std::thread thread_;
  std::thread::id thread_id_;
};

}  // namespace lockstep
