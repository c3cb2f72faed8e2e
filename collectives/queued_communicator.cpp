#include "collectives/queued_communicator.h"

#include <immintrin.h>
#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <utility>

#include "collectives/header.h"
#include "core/base/cores.h"
#include "core/base/error.h"
#include "core/base/thread_pool.h"

namespace lockstep {
namespace {

// Messages that are complete for their sender may still need a push to leave; see idle().
constexpr auto kIdlePoll = std::chrono::milliseconds(5);
// How long abort() waits for the communication thread before it ends the process by itself.
constexpr auto kAbortPatience = std::chrono::seconds(10);

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
                                       const QueueOptions& options) {
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
  topology_ = transport_->topology();
  const auto on_node = static_cast<int>(topology_.ranks_of(topology_.node()).size());
  own_core_ = has_cores_for(on_node * (options.busy_threads + 1));
  participant_ = std::make_unique<Participant>(*transport_, options.participant, interrupt_);
  arena_ = participant_->arena();
}

QueuedCommunicator::~QueuedCommunicator() {
  if (thread_.joinable()) stop(true);
}

void QueuedCommunicator::finish() {
  try {
    ask(CollectiveKind::kExchange, "end of the job", {}, {});
  } catch (...) {
    stop(true);
    throw;
  }
  stop(false);
}

void QueuedCommunicator::stop(bool give_up) {
  {
    const std::lock_guard lock(wake_->mutex);
    stopping_ = true;
    give_up_ = give_up;
    if (give_up) interrupted_ = true;
  }
  wake_->changed.notify_all();
  thread_.join();
}

EventPtr QueuedCommunicator::submit(CollectiveRequest request) {
  check_request(request, size());
  if (request.ready != nullptr) {
    request.ready->on_ready([wake = wake_] {
      // Taking the mutex orders this after a waiter's last check of the event.
      { const std::lock_guard lock(wake->mutex); }
      wake->changed.notify_all();
    });
  }
  Job job;
  if (arena_ != nullptr && request.kind == CollectiveKind::kAllReduce)
    job.region = arena_->find(request.data);
  job.header = header_of(request);
  if (job.region != nullptr) {
    job.header.offset =
        static_cast<std::int64_t>(job.region->offset()) + (request.data - job.region->data());
    job.needs_messages = participant_->sums_need_messages();
  }
  job.request = std::move(request);
  return push(std::move(job));
}

std::vector<std::string> QueuedCommunicator::exchange(const std::string& tag,
                                                      const std::string& mine) {
  return ask(CollectiveKind::kExchange, tag, mine, {}).all;
}

bool QueuedCommunicator::agree(const std::string& tag, const Hash128& mine) {
  return ask(CollectiveKind::kAgree, tag, {}, mine).same;
}

QueuedCommunicator::Answer QueuedCommunicator::ask(CollectiveKind kind, const std::string& tag,
                                                   const std::string& mine, const Hash128& digest) {
  LS_CHECK(!on_own_thread(), "'{}' on the communication thread would wait for itself", tag);
  Answer answer;
  Job job;
  job.request.kind = kind;
  job.mine = mine;
  job.answer = &answer;
  job.header = header_of_tag(kind, tag);
  job.header.digest = digest;
  push(std::move(job))->wait();
  return answer;
}

EventPtr QueuedCommunicator::push(Job job) {
  EventPtr done = job.done;
  const bool is_ready = job.request.ready == nullptr;
  const bool passes = !job.needs_messages && !own_core_;
  {
    Lock lock(wake_->mutex);
    job.header.sequence = next_sequence_++;
    job.submitted_ns = clock_.now_ns();
    // The other ranks need not wait for this rank's turn to learn that its data is ready.
    if (arena_ != nullptr && is_ready && job.header.sequence == next_post_) post(job.header);
    queue_.push_back(std::move(job));
    if (passes) {
      // Jobs that all ranks are ready for, without waiting: this thread has other work to do.
      const auto all_have_posted = [this](const Job& next) {
        return !next.needs_messages &&
               arena_->flags().all_have(Progress::kPosted, next.header.sequence + 1);
      };
      if (!driving_) drive(lock, all_have_posted, false);
      return done;
    }
  }
  wake_->changed.notify_all();
  return done;
}

bool QueuedCommunicator::post(const CollectiveHeader& header) {
  if (!participant_->header_exchange().post_early(header)) return false;
  next_post_ = header.sequence + 1;
  return true;
}

void QueuedCommunicator::wait(const EventPtr& event) {
  if (arena_ != nullptr && !own_core_) {
    const auto is_ready_here = [](const Job& next) {
      return !next.needs_messages &&
             (next.request.ready == nullptr || next.request.ready->is_ready());
    };
    Lock lock(wake_->mutex);
    if (!event->is_ready() && !driving_) drive(lock, is_ready_here, true);
  }
  // If another thread drives, it does not stop before the event's job.
  event->wait();
}

std::unique_ptr<SharedBuffer> QueuedCommunicator::shared_buffer(std::size_t bytes) {
  if (arena_ == nullptr) return nullptr;
  return arena_->hold(bytes, [this] { check_on_job(); });
}

void QueuedCommunicator::abort(int exit_code, const std::string& reason) {
  // An event's callback may call this on the communication thread itself.
  if (on_own_thread()) {
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
    raise(ErrorKind::kPeer, "rank {} ended the job with code {}: {}", rank(), exit_code, reason);
  }
  fmt::print(stderr,
             "rank {} ends with code {}, because its communication thread does not answer: {}\n",
             rank(), exit_code, reason);
  std::fflush(nullptr);
  std::_Exit(exit_code);
}

void QueuedCommunicator::serve() {
  const auto everything = [](const Job&) { return true; };
  {
    Lock lock(wake_->mutex);
    while (wait_for_work(lock)) drive(lock, everything, true);
  }
  if (arena_ != nullptr) arena_->flags().leave();
  transport_->close(poison() == nullptr);
}

// A waiting thread may do this work, but it is not left to it for long: it may wait in another way.
bool QueuedCommunicator::wait_for_work(Lock& lock) {
  while (true) {
    if (give_up_) poison_with(given_up());
    const bool empty = queue_.empty() && (driving_ || summed_.empty());
    if (!driving_ && !empty) {
      const Job& next = summed_.empty() ? queue_.front() : summed_.front();
      const bool urgent = own_core_ || stopping_ || next.needs_messages;
      const std::chrono::nanoseconds waited(clock_.now_ns() - next.submitted_ns);
      if (urgent || waited >= kIdlePoll) return true;
    }
    if (stopping_ && empty && !driving_) return false;
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
  return std::make_exception_ptr(
      Error(ErrorKind::kPeer, fmt::format("rank {} left the job before its end", rank())));
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
  if (on_own_thread()) {
    check_interrupt();
    transport_->test();
  } else if (const auto error = poison()) {
    std::rethrow_exception(error);
  }
}

void QueuedCommunicator::drive(Lock& lock, const Takes& takes, bool completes) {
  driving_ = true;
  while (true) {
    if (!queue_.empty() && takes(queue_.front())) {
      Job job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      progress(std::move(job));
    } else if (completes && !summed_.empty()) {
      lock.unlock();
      complete_sums();
    } else {
      break;
    }
    lock.lock();
  }
  driving_ = false;
}

void QueuedCommunicator::progress(Job job) {
  try {
    if (const auto error = poison()) std::rethrow_exception(error);
    if (job.digests_differ) tell_difference(job);
    const std::exception_ptr not_ready = wait_until_ready(job.request);
    if (not_ready != nullptr) set_failure(job.header, not_ready);
    const CollectiveVerdict verdict = exchange_headers(job);
    if (verdict.mismatch) throw Error(ErrorKind::kPeer, *verdict.mismatch);
    if (job.request.latest_virtual_ns != nullptr)
      *job.request.latest_virtual_ns = verdict.latest_virtual_ns;
    if (!verdict.failure && verdict.digests_differ && job.request.carried != nullptr) {
      if (on_own_thread()) tell_difference(job);
      leave_to_own_thread(std::move(job));
      return;
    }
    if (!verdict.failure && job.region != nullptr) {
      sum_in_shared_memory(std::move(job));
      return;
    }
    complete_sums();  // events are marked in the order of submission
    if (verdict.failure) {
      job.done->fail(not_ready != nullptr ? not_ready : std::make_exception_ptr(*verdict.failure));
      return;
    }
    move_data(job, verdict);
    complete(job);
  } catch (...) {
    poison_with(std::current_exception());
    complete_sums();
    job.done->fail(poison());
  }
}

CollectiveVerdict QueuedCommunicator::exchange_headers(const Job& job) {
  const auto interrupt = [this] { check_on_job(); };
  const std::uint64_t sequence = job.header.sequence;
  if (arena_ != nullptr) {
    Lock lock(wake_->mutex);
    while (next_post_ <= sequence && !post(job.header)) {
      lock.unlock();
      arena_->flags().wait_for_all(Progress::kCompared, sequence - SharedFlags::kHeaders + 1,
                                   interrupt);
      lock.lock();
    }
  }
  return participant_->header_exchange().compare(job.header, interrupt);
}

void QueuedCommunicator::sum_in_shared_memory(Job job) {
  const DenormalsFlushed flushed;
  participant_->progress(job.request, job.region);
  job.region->sums_end = job.header.sequence + 1;
  arena_->flags().advance(Progress::kSummed, job.header.sequence + 1);
  summed_.push_back(std::move(job));
}

void QueuedCommunicator::move_data(const Job& job, const CollectiveVerdict& verdict) {
  if (job.answer == nullptr) {
    participant_->progress(job.request, nullptr);
    return;
  }
  job.answer->same = !verdict.digests_differ;
  if (job.request.kind == CollectiveKind::kExchange)
    job.answer->all = participant_->exchange(job.mine);
}

// All ranks come here for the same collective: they have all seen that the digests differ.
void QueuedCommunicator::tell_difference(const Job& job) {
  const CarriedDigest& carried = *job.request.carried;
  throw carried.explain(participant_->exchange(carried.details()));
}

void QueuedCommunicator::leave_to_own_thread(Job job) {
  job.needs_messages = true;
  job.digests_differ = true;
  {
    const std::lock_guard lock(wake_->mutex);
    queue_.push_front(std::move(job));
  }
  wake_->changed.notify_all();
}

void QueuedCommunicator::complete(const Job& job) {
  job.done->set();
}

void QueuedCommunicator::complete_sums() {
  if (summed_.empty()) return;
  try {
    if (const auto error = poison()) std::rethrow_exception(error);
    arena_->flags().wait_for_all(Progress::kSummed, summed_.back().header.sequence + 1,
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

}  // namespace lockstep
