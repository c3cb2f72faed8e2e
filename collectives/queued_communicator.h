// The Communicator over any Transport: a queue of requests and one communication thread, which
// creates the transport, compares headers, moves data, and closes the transport at the end.
//
// Ranks of one node also share memory (node_memory.h). Then headers are compared there, and an
// all_reduce of data in a shared buffer is carried out by the thread that waits for it, or, where
// there is a core for it, by the communication thread; in either case in the order of submission.
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
#include <chrono>
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
#include "collectives/node_memory.h"
#include "collectives/transport.h"
#include "core/base/spans.h"
#include "core/runtime/communicator.h"

namespace lockstep {

struct QueueOptions {
  /// Gets an all_reduce span for each all_reduce, reduce_scatter and all_gather; may be null.
  SpanStream* spans = nullptr;
  SharedMemoryUse shared_memory = SharedMemoryUse::kNever;
  /// Threads of a rank that compute. If its node has fewer cores than these and a communication
  /// thread for every rank, sums in shared memory are left to the threads that wait for them.
  int busy_threads = 1;
};

class QueuedCommunicator final : public Communicator {
 public:
  /// Starts the communication thread and returns once `connect` has made the transport on it;
  /// rethrows what `connect` throws. Error kUsage if shared memory is required and not to be had.
  explicit QueuedCommunicator(std::function<std::unique_ptr<Transport>()> connect,
                              const QueueOptions& options = {});

  /// Carries out what was submitted, says goodbye if the transport asks for it, and closes it.
  /// After a failure, or while an exception unwinds, it waits for nobody: what is pending fails.
  ~QueuedCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  EventPtr submit(CollectiveRequest request) override;
  void wait(const EventPtr& event) override;
  std::unique_ptr<SharedBuffer> shared_buffer(std::size_t bytes) override;
  std::vector<std::string> exchange(const std::string& tag, const std::string& mine) override;
  [[noreturn]] void abort(int exit_code, const std::string& reason) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Job {
    CollectiveRequest request;
    std::string tag;                          ///< exchange only
    std::string mine;                         ///< exchange only
    std::vector<std::string>* all = nullptr;  ///< exchange only: the caller's, who waits for `done`
    EventPtr done = std::make_shared<Event>();
    SharedRegion* region = nullptr;  ///< that the data lies in; null for a job of the transport
    CollectiveHeader header{};
    TimePoint submitted{};
    std::int64_t begin_ns = 0;  ///< of its span
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
  using Lock = std::unique_lock<std::mutex>;  ///< of wake_->mutex
  enum class Carrier : std::uint8_t {
    kThread,  ///< the communication thread: does everything
    kWaiter,  ///< a thread that waits: sums in shared memory, until the queue holds no more
    kPasser,  ///< a thread that submitted: sums that all ranks are ready for, without waiting
  };

  void connect(const std::function<std::unique_ptr<Transport>()>& make_transport,
               const QueueOptions& options);
  EventPtr push(Job job);
  bool post(const CollectiveHeader& header);

  // One thread at a time carries out jobs; it has set carrying_.
  bool may_carry(const Job& job, Carrier carrier) const;
  void carry_out_queue(Lock& lock, Carrier carrier);
  void carry_out(Job job);
  std::exception_ptr wait_until_ready(const CollectiveRequest& request);
  std::vector<CollectiveHeader> headers_of_all(const CollectiveHeader& mine);
  void move_data(const Job& job, const std::vector<CollectiveHeader>& headers);
  void complete(const Job& job);
  void complete_sums();
  /// Throws if this job or this rank is lost. Called while waiting for other ranks.
  void check_on_job();

  // On the communication thread:
  void serve();
  bool wait_for_work(Lock& lock);
  void say_goodbye();
  /// Throws if this rank was told to abort or to give up; may not return at all.
  void check_interrupt();
  std::exception_ptr given_up() const;
  /// Waits for a change, for a few milliseconds at most, then polls for interrupts and lets the
  /// transport make progress. What goes wrong becomes the poison. `lock` is held before and after.
  void idle(Lock& lock);

  /// The first error that ends everything; null while all is well. From any thread.
  std::exception_ptr poison() const;
  void poison_with(std::exception_ptr error);

  int rank_ = 0;
  int size_ = 1;
  SpanStream* spans_;
  bool own_core_ = true;  ///< the communication thread need not wait for others to do its work
  std::shared_ptr<NodeMemory> node_;  ///< null if ranks share no memory
  int exceptions_at_start_ = std::uncaught_exceptions();

  std::shared_ptr<Wake> wake_ = std::make_shared<Wake>();
  // Guarded by wake_->mutex:
  std::deque<Job> queue_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t next_post_ = 0;  ///< headers before this one are on the board
  bool carrying_ = false;
  bool stopping_ = false;
  bool give_up_ = false;  ///< stopping, and not to wait for other ranks
  std::optional<AbortOrder> abort_order_;
  bool aborted_ = false;  ///< the abort order was carried out and this process is still there

  std::atomic<bool> interrupted_{false};  ///< give_up_ or abort_order_ is set
  mutable std::mutex poison_mutex_;
  std::exception_ptr poison_;

  // Of the thread that is carrying:
  std::vector<Job> summed_;  ///< this rank's part is done; the others' may not be

  // Of the communication thread alone:
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<DirectExchange> algorithms_;

  std::thread thread_;
  std::thread::id thread_id_;
};

}  // namespace lockstep
