#include "collectives/queued_communicator.h"

#include <immintrin.h>
#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <utility>

#include "collectives/backoff.h"
#include "collectives/request_check.h"
#include "core/base/error.h"
#include "core/base/thread_pool.h"

namespace lockstep {
namespace {

// Messages that are complete for their sender may still need a push to leave; see idle().
constexpr auto kIdlePoll = std::chrono::milliseconds(5);
// How long abort() waits for the communication thread before it ends the process by itself.
constexpr auto kAbortPatience = std::chrono::seconds(10);

bool feeds_all_reduce_time(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllGather;
}

/// Any thread may carry out a sum, and all must round alike.
class DenormalsFlushed {
 public:
  DenormalsFlushed() { flush_denormals(); }
  ~DenormalsFlushed() { _mm_setcsr(before_); }
  DenormalsFlushed(const DenormalsFlushed&) = delete;
  DenormalsFlushed& operator=(const DenormalsFlushed&) = delete;

 private:
  unsigned before_ = _mm_getcsr();
};

}  // namespace

QueuedCommunicator::QueuedCommunicator(std::function<std::unique_ptr<Transport>()> make_transport,
                                       const QueueOptions& options)
    : spans_(options.spans) {
  std::promise<void> connected;
  thread_ = std::thread([this, &connected, &options, make = std::move(make_transport)] {
    pthread_setname_np(pthread_self(), "lockstep-comm");
    flush_denormals();
    try {
      connect(make, options);
    } catch (...) {
      connected.set_exception(std::current_exception());
      return;
    }
    connected.set_value();  // `connected` and `options` may be gone from here on
    serve();
  });
  try {
    connected.get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

void QueuedCommunicator::connect(const std::function<std::unique_ptr<Transport>()>& make_transport,
                                 const QueueOptions& options) {
  thread_id_ = std::this_thread::get_id();
  transport_ = make_transport();
  rank_ = transport_->rank();
  size_ = transport_->size();
  algorithms_ = std::make_unique<DirectExchange>(*transport_, [this] { check_interrupt(); });
  const int on_node = transport_->ranks_on_node();
  own_core_ = has_cores_for(on_node * (options.busy_threads + 1));
  if (options.shared_memory == SharedMemoryUse::kNever || size_ == 1) return;
  std::string problem;
  if (on_node == size_) {
    node_ = NodeMemory::connect(*transport_, *algorithms_, may_spin(on_node), problem);
  } else {
    problem = fmt::format("{} of {} ranks are on the node of rank {}", on_node, size_, rank_);
  }
  LS_USER_CHECK(node_ != nullptr || options.shared_memory == SharedMemoryUse::kIfPossible,
                "the ranks cannot share memory (distributed.allreduce: shm): {}", problem);
}

QueuedCommunicator::~QueuedCommunicator() {
  {
    const std::lock_guard lock(wake_->mutex);
    stopping_ = true;
    give_up_ = std::uncaught_exceptions() > exceptions_at_start_;
    if (give_up_) interrupted_ = true;
  }
  wake_->changed.notify_all();
  thread_.join();
}

EventPtr QueuedCommunicator::submit(CollectiveRequest request) {
  check_request(request, size_);
  if (request.ready != nullptr) {
    request.ready->on_ready([wake = wake_] {
      // Taking the mutex orders this after a waiter's last look at the event.
      { const std::lock_guard lock(wake->mutex); }
      wake->changed.notify_all();
    });
  }
  Job job;
  if (node_ != nullptr && request.kind == CollectiveKind::kAllReduce)
    job.region = node_->find(request.data);
  job.header = header_of(request, 0);
  if (job.region != nullptr)
    job.header.place =
        static_cast<std::int64_t>(job.region->place()) + (request.data - job.region->data());
  job.request = std::move(request);
  return push(std::move(job));
}

std::vector<std::string> QueuedCommunicator::exchange(const std::string& tag,
                                                      const std::string& mine) {
  LS_CHECK(std::this_thread::get_id() != thread_id_,
           "exchange '{}' on the communication thread would wait for itself", tag);
  std::vector<std::string> all;
  Job job;
  job.request.kind = CollectiveKind::kExchange;
  job.tag = tag;
  job.mine = mine;
  job.all = &all;
  job.header = header_of_exchange(tag, static_cast<std::int64_t>(mine.size()), 0);
  push(std::move(job))->wait();
  return all;
}

EventPtr QueuedCommunicator::push(Job job) {
  EventPtr done = job.done;
  const bool is_ready = job.request.ready == nullptr;
  const bool shared = job.region != nullptr;
  {
    Lock lock(wake_->mutex);
    job.header.sequence = next_sequence_++;
    job.submitted = std::chrono::steady_clock::now();
    // The others need not wait for this rank's turn to learn that its data is ready.
    if (node_ != nullptr && is_ready && job.header.sequence == next_post_) post(job.header);
    queue_.push_back(std::move(job));
    if (shared && !own_core_) {
      if (!carrying_) carry_out_queue(lock, Carrier::kPasser);
      return done;
    }
  }
  wake_->changed.notify_all();
  return done;
}

bool QueuedCommunicator::post(const CollectiveHeader& header) {
  if (!node_->board().try_post(header)) return false;
  next_post_ = header.sequence + 1;
  return true;
}

void QueuedCommunicator::wait(const EventPtr& event) {
  if (node_ != nullptr && !own_core_) {
    Lock lock(wake_->mutex);
    if (!event->is_ready() && !carrying_) carry_out_queue(lock, Carrier::kWaiter);
  }
  // If another thread is carrying out jobs, it does not stop before the event's.
  event->wait();
}

std::unique_ptr<SharedBuffer> QueuedCommunicator::shared_buffer(std::size_t bytes) {
  if (node_ == nullptr) return nullptr;
  return node_->hold(bytes, [this] { check_on_job(); });
}

void QueuedCommunicator::abort(int exit_code, const std::string& reason) {
  // An event's callback may call this on the communication thread itself.
  if (std::this_thread::get_id() == thread_id_) {
    try {
      transport_->abort(exit_code, reason);
    } catch (...) {
      poison_with(std::current_exception());
      throw;
    }
  }
  std::unique_lock lock(wake_->mutex);
  if (!abort_order_) abort_order_ = AbortOrder{exit_code, reason};
  interrupted_ = true;
  wake_->changed.notify_all();
  if (wake_->changed.wait_for(lock, kAbortPatience, [this] { return aborted_; })) {
    raise(ErrorKind::kPeer, "rank {} ended the job with code {}: {}", rank_, exit_code, reason);
  }
  fmt::print(stderr, "rank {} ends with code {}, as its communication thread does not answer: {}\n",
             rank_, exit_code, reason);
  std::fflush(nullptr);
  std::_Exit(exit_code);
}

void QueuedCommunicator::serve() {
  {
    Lock lock(wake_->mutex);
    while (wait_for_work(lock)) carry_out_queue(lock, Carrier::kThread);
  }
  if (poison() == nullptr && transport_->closes_together()) say_goodbye();
  if (node_ != nullptr && !transport_->closes_together()) node_->board().leave();
  transport_->close(poison() == nullptr);
  algorithms_.reset();
  transport_.reset();
}

// Work that a waiting thread may do is left to it, but not for long: it may wait in another way.
bool QueuedCommunicator::wait_for_work(Lock& lock) {
  while (true) {
    if (give_up_) poison_with(given_up());
    const bool empty = queue_.empty() && (carrying_ || summed_.empty());
    if (!carrying_ && !empty) {
      const Job& next = summed_.empty() ? queue_.front() : summed_.front();
      const bool urgent = own_core_ || stopping_ || next.region == nullptr;
      if (urgent || std::chrono::steady_clock::now() - next.submitted >= kIdlePoll) return true;
    }
    if (stopping_ && empty && !carrying_) return false;
    idle(lock);
  }
}

void QueuedCommunicator::idle(Lock& lock) {
  wake_->changed.wait_for(lock, kIdlePoll);
  lock.unlock();
  try {
    check_interrupt();
    if (poison() == nullptr) transport_->test();
  } catch (...) {
    poison_with(std::current_exception());
  }
  lock.lock();
}

void QueuedCommunicator::check_interrupt() {
  if (!interrupted_) return;
  std::optional<AbortOrder> order;
  {
    const std::lock_guard lock(wake_->mutex);
    order.swap(abort_order_);
    interrupted_ = give_up_;
  }
  if (order) {
    try {
      transport_->abort(order->exit_code, order->reason);
    } catch (...) {
      {
        const std::lock_guard lock(wake_->mutex);
        aborted_ = true;
      }
      wake_->changed.notify_all();
      throw;
    }
  }
  if (interrupted_) std::rethrow_exception(given_up());
}

std::exception_ptr QueuedCommunicator::given_up() const {
  return std::make_exception_ptr(Error(
      ErrorKind::kPeer, fmt::format("rank {} left the job, as an exception unwinds there", rank_)));
}

std::exception_ptr QueuedCommunicator::poison() const {
  const std::lock_guard lock(poison_mutex_);
  return poison_;
}

void QueuedCommunicator::poison_with(std::exception_ptr error) {
  const std::lock_guard lock(poison_mutex_);
  if (poison_ == nullptr) poison_ = std::move(error);
}

void QueuedCommunicator::check_on_job() {
  if (std::this_thread::get_id() == thread_id_) {
    check_interrupt();
    transport_->test();
  } else if (const auto error = poison()) {
    std::rethrow_exception(error);
  }
}

bool QueuedCommunicator::may_carry(const Job& job, Carrier carrier) const {
  if (carrier == Carrier::kThread) return true;
  if (job.region == nullptr) return false;
  const std::uint64_t end = job.header.sequence + 1;
  if (carrier == Carrier::kPasser) return node_->board().all_have(Progress::kPosted, end);
  return job.request.ready == nullptr || job.request.ready->is_ready();
}

void QueuedCommunicator::carry_out_queue(Lock& lock, Carrier carrier) {
  carrying_ = true;
  while (true) {
    if (!queue_.empty() && may_carry(queue_.front(), carrier)) {
      Job job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      carry_out(std::move(job));
    } else if (carrier != Carrier::kPasser && !summed_.empty()) {
      lock.unlock();
      complete_sums();
    } else {
      break;
    }
    lock.lock();
  }
  carrying_ = false;
}

void QueuedCommunicator::carry_out(Job job) {
  try {
    if (const auto error = poison()) std::rethrow_exception(error);
    const std::exception_ptr not_ready = wait_until_ready(job.request);
    job.begin_ns = spans_ == nullptr ? 0 : spans_->clock().now_ns();
    if (not_ready != nullptr) set_failure(job.header, not_ready);
    const std::vector<CollectiveHeader> headers = headers_of_all(job.header);
    const auto failure = describe_failure(headers);
    if (!failure && job.region != nullptr) {
      if (const auto mismatch = describe_mismatch(headers))
        throw Error(ErrorKind::kPeer, *mismatch);
      const DenormalsFlushed flushed;
      job.region->sum(job.request.dtype,
                      static_cast<std::size_t>(job.request.data - job.region->data()),
                      job.request.count);
      job.region->sums_end = job.header.sequence + 1;
      node_->board().advance(Progress::kSummed, job.header.sequence + 1);
      summed_.push_back(std::move(job));
      return;
    }
    complete_sums();  // events are marked in the order of submission
    if (failure) {
      job.done->fail(not_ready != nullptr ? not_ready : std::make_exception_ptr(*failure));
      return;
    }
    if (const auto mismatch = describe_mismatch(headers)) {
      throw Error(ErrorKind::kPeer, *mismatch);
    }
    move_data(job, headers);
    complete(job);
  } catch (...) {
    poison_with(std::current_exception());
    complete_sums();
    job.done->fail(poison());
  }
}

void QueuedCommunicator::complete(const Job& job) {
  if (spans_ != nullptr && feeds_all_reduce_time(job.request.kind))
    spans_->record(SpanCategory::kAllReduce, job.begin_ns, spans_->clock().now_ns(),
                   job.request.step);
  job.done->set();
}

void QueuedCommunicator::complete_sums() {
  if (summed_.empty()) return;
  try {
    if (const auto error = poison()) std::rethrow_exception(error);
    node_->board().wait_for_all(Progress::kSummed, summed_.back().header.sequence + 1,
                                [this] { check_on_job(); });
  } catch (...) {
    poison_with(std::current_exception());
  }
  const std::vector<Job> jobs = std::exchange(summed_, {});
  for (const Job& job : jobs) {
    if (const auto error = poison()) {
      job.done->fail(error);
    } else {
      complete(job);
    }
  }
}

std::exception_ptr QueuedCommunicator::wait_until_ready(const CollectiveRequest& request) {
  if (request.ready == nullptr) return nullptr;
  Lock lock(wake_->mutex);
  while (!request.ready->is_ready()) {
    idle(lock);
    if (const auto error = poison()) std::rethrow_exception(error);
  }
  return request.ready->error();
}

std::vector<CollectiveHeader> QueuedCommunicator::headers_of_all(const CollectiveHeader& mine) {
  if (node_ == nullptr) return algorithms_->headers(mine);
  NodeBoard& board = node_->board();
  const std::uint64_t sequence = mine.sequence;
  const auto interrupt = [this] { check_on_job(); };
  {
    Lock lock(wake_->mutex);
    while (next_post_ <= sequence && !post(mine)) {
      lock.unlock();
      board.wait_for_all(Progress::kCompared, sequence - NodeBoard::kHeaders + 1, interrupt);
      lock.lock();
    }
  }
  board.wait_for_all(Progress::kPosted, sequence + 1, interrupt);
  std::vector<CollectiveHeader> all;
  for (int rank = 0; rank < size_; ++rank) all.push_back(board.header(rank, sequence));
  board.advance(Progress::kCompared, sequence + 1);
  return all;
}

void QueuedCommunicator::move_data(const Job& job, const std::vector<CollectiveHeader>& headers) {
  const CollectiveRequest& r = job.request;
  const std::int64_t bytes = r.count * static_cast<std::int64_t>(size_of(r.dtype));
  switch (r.kind) {
    case CollectiveKind::kAllReduce: algorithms_->all_reduce(r.dtype, r.data, r.count); return;
    case CollectiveKind::kReduceScatter:
      algorithms_->reduce_scatter(r.dtype, r.data, r.count);
      return;
    case CollectiveKind::kAllGather: algorithms_->all_gather(r.data, bytes); return;
    case CollectiveKind::kBroadcast: algorithms_->broadcast(r.data, bytes, r.root); return;
    case CollectiveKind::kExchange: {
      std::vector<std::int64_t> sizes;
      for (const CollectiveHeader& header : headers) sizes.push_back(header.count);
      *job.all = algorithms_->exchange(job.mine, sizes);
      return;
    }
  }
}

// A rank that ends while another wants to go on is a mismatch like any other, and is named as one
// instead of hanging in the transport's own farewell. There is nobody left to throw to.
void QueuedCommunicator::say_goodbye() {
  std::string problem;
  try {
    const auto headers = headers_of_all(header_of_exchange("end of the job", 0, next_sequence_));
    const auto failure = describe_failure(headers);
    const auto mismatch = describe_mismatch(headers);
    if (!failure && !mismatch) return;
    problem = failure ? failure->what() : *mismatch;
  } catch (const std::exception& e) {
    problem = e.what();
  }
  transport_->abort(static_cast<int>(ErrorKind::kPeer), problem);
}

}  // namespace lockstep
