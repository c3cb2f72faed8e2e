#include "core/base/thread_pool.h"

#include <immintrin.h>

#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::int64_t kTasksBetweenSigns = 16;  // a power of two; a sign of progress costs ~5 ns
constexpr unsigned kFlush = 0x8040U;             // of MXCSR: flush to zero, denormals are zero

// The word of a call. A worker that sleeps through all numbers of calls misses one call at most,
// which the others do.
constexpr std::uint32_t kJoined = 1;  // each worker that has joined
constexpr std::uint32_t kJoinedMask = (1U << 12U) - 1;
constexpr std::uint32_t kOpen = 1U << 12U;  // workers may join
constexpr std::uint32_t kCall = 1U << 13U;  // the number of the call
constexpr int kMaxThreads = 4096;

// A wait spins this often before it sleeps: 30 to 100 us, the time between the kernels of a step.
constexpr int kPauses = 2000;

std::uint32_t call_of(std::uint32_t state) {
  return state / kCall;
}

}  // namespace

ThreadPool::ThreadPool(int threads, PoolOptions options) : options_(std::move(options)) {
  LS_USER_CHECK(threads <= kMaxThreads, "a pool has at most {} threads, not {}", kMaxThreads,
                threads);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { worker(); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  state_ += kCall;
  state_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  if (workers_.empty() || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      task(i);
      if ((i & (kTasksBetweenSigns - 1)) == 0) options_.activity.progress();
    }
    return;
  }
  task_ = &task;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  state_.fetch_add(kCall | kOpen, std::memory_order_release);
  state_.notify_all();  // a call of the system only if a worker sleeps
  drain();
  close();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

/// No task is left: nobody joins any more, and those who have finish theirs.
void ThreadPool::close() {
  std::uint32_t state = state_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  while ((state & kJoinedMask) != 0) state = wait_for_change(state);
}

void ThreadPool::drain() {
  try {
    for (std::int64_t i = next_++; i < count_; i = next_++) {
      (*task_)(i);
      if ((i & (kTasksBetweenSigns - 1)) == 0) options_.activity.progress();
    }
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
    next_ = count_;
  }
}

std::uint32_t ThreadPool::wait_for_change(std::uint32_t state) {
  for (int i = 0; options_.spin && i < kPauses; ++i) {
    const std::uint32_t now = state_.load(std::memory_order_acquire);
    if (now != state) return now;
    _mm_pause();
  }
  state_.wait(state, std::memory_order_acquire);
  return state_.load(std::memory_order_acquire);
}

/// Waits for a call with another number than `seen`, and joins it; false at the end of the pool.
bool ThreadPool::join_next_call(std::uint32_t& seen) {
  std::uint32_t state = state_.load(std::memory_order_acquire);
  while (!stop_.load(std::memory_order_relaxed)) {
    if (call_of(state) == seen || (state & kOpen) == 0) {
      state = wait_for_change(state);
    } else if (state_.compare_exchange_weak(state, state + kJoined, std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
      seen = call_of(state);
      return true;
    }
  }
  return false;
}

void ThreadPool::worker() {
  flush_denormals();
  if (options_.on_start) options_.on_start();
  const SteadyClock clock;
  std::uint32_t seen = 0;
  while (join_next_call(seen)) {
    const std::int64_t begin_ns = clock.now_ns();
    drain();
    worker_ns_.fetch_add(clock.now_ns() - begin_ns, std::memory_order_relaxed);
    const std::uint32_t before = state_.fetch_sub(kJoined, std::memory_order_acq_rel);
    if ((before & kJoinedMask) == kJoined && (before & kOpen) == 0) state_.notify_all();
  }
}

void flush_denormals() {
  _mm_setcsr(_mm_getcsr() | kFlush);
}

DenormalsKept::DenormalsKept() : before_(_mm_getcsr()) {
  _mm_setcsr(before_ & ~kFlush);
}

DenormalsKept::~DenormalsKept() {
  _mm_setcsr(before_);
}

}  // namespace lockstep
