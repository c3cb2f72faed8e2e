#include "collectives/queued_communicator.h"

#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>

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

}  // namespace

QueuedCommunicator::QueuedCommunicator(std::function<std::unique_ptr<Transport>()> connect,
                                       SpanStream* spans)
    : spans_(spans) {
  std::promise<void> connected;
  thread_ = std::thread([this, &connected, connect = std::move(connect)] {
    pthread_setname_np(pthread_self(), "lockstep-comm");
    flush_denormals();
    try {
      transport_ = connect();
      rank_ = transport_->rank();
      size_ = transport_->size();
      algorithms_ = std::make_unique<DirectExchange>(*transport_, [this] { check_interrupt(); });
    } catch (...) {
      connected.set_exception(std::current_exception());
      return;
    }
    connected.set_value();  // `connected` may be gone from here on
    serve();
  });
  try {
    connected.get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
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
  job.request = std::move(request);
  return push(std::move(job));
}

std::vector<std::string> QueuedCommunicator::exchange(const std::string& tag,
                                                      const std::string& mine) {
  LS_CHECK(std::this_thread::get_id() != thread_.get_id(),
           "exchange '{}' on the communication thread would wait for itself", tag);
  std::vector<std::string> all;
  Job job;
  job.request.kind = CollectiveKind::kExchange;
  job.tag = tag;
  job.mine = mine;
  job.all = &all;
  push(std::move(job))->wait();
  return all;
}

EventPtr QueuedCommunicator::push(Job job) {
  EventPtr done = job.done;
  {
    const std::lock_guard lock(wake_->mutex);
    queue_.push_back(std::move(job));
  }
  wake_->changed.notify_all();
  return done;
}

void QueuedCommunicator::abort(int exit_code, const std::string& reason) {
  // An event's callback may call this on the communication thread itself.
  if (std::this_thread::get_id() == thread_.get_id()) {
    try {
      transport_->abort(exit_code, reason);
    } catch (...) {
      poison_ = std::current_exception();
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
  while (const auto job = next_job()) carry_out(*job);
  if (poison_ == nullptr && transport_->closes_together()) say_goodbye();
  transport_->close(poison_ == nullptr);
  algorithms_.reset();
  transport_.reset();
}

std::optional<QueuedCommunicator::Job> QueuedCommunicator::next_job() {
  std::unique_lock lock(wake_->mutex);
  while (queue_.empty()) {
    if (give_up_ && poison_ == nullptr) poison_ = given_up();
    if (stopping_) return std::nullopt;
    idle(lock);
  }
  Job job = std::move(queue_.front());
  queue_.pop_front();
  return job;
}

void QueuedCommunicator::idle(std::unique_lock<std::mutex>& lock) {
  wake_->changed.wait_for(lock, kIdlePoll);
  lock.unlock();
  try {
    check_interrupt();
    if (poison_ == nullptr) transport_->test();
  } catch (...) {
    if (poison_ == nullptr) poison_ = std::current_exception();
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

void QueuedCommunicator::carry_out(const Job& job) {
  try {
    if (poison_ != nullptr) std::rethrow_exception(poison_);
    const bool is_exchange = job.request.kind == CollectiveKind::kExchange;
    const std::exception_ptr not_ready = wait_until_ready(job.request);
    const std::int64_t begin_ns = spans_ == nullptr ? 0 : spans_->clock().now_ns();

    CollectiveHeader mine =
        is_exchange
            ? header_of_exchange(job.tag, static_cast<std::int64_t>(job.mine.size()), sequence_)
            : header_of(job.request, sequence_);
    ++sequence_;
    if (not_ready != nullptr) set_failure(mine, not_ready);
    const std::vector<CollectiveHeader> headers = algorithms_->headers(mine);
    if (const auto failure = describe_failure(headers)) {
      job.done->fail(not_ready != nullptr ? not_ready : std::make_exception_ptr(*failure));
      return;
    }
    if (const auto mismatch = describe_mismatch(headers)) {
      throw Error(ErrorKind::kPeer, *mismatch);
    }
    move_data(job, headers);

    if (spans_ != nullptr && feeds_all_reduce_time(job.request.kind)) {
      spans_->record(SpanCategory::kAllReduce, begin_ns, spans_->clock().now_ns(),
                     job.request.step);
    }
    job.done->set();
  } catch (...) {
    if (poison_ == nullptr) poison_ = std::current_exception();
    job.done->fail(poison_);
  }
}

std::exception_ptr QueuedCommunicator::wait_until_ready(const CollectiveRequest& request) {
  if (request.ready == nullptr) return nullptr;
  std::unique_lock lock(wake_->mutex);
  while (!request.ready->is_ready()) {
    idle(lock);
    if (poison_ != nullptr) std::rethrow_exception(poison_);
  }
  return request.ready->error();
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
    const auto headers = algorithms_->headers(header_of_exchange("end of the job", 0, sequence_));
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
