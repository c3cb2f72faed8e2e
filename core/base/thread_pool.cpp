#include "core/base/thread_pool.h"

#include <immintrin.h>

#include <utility>

namespace lockstep {
namespace {

constexpr std::int64_t kTasksBetweenSigns = 16;  // a power of two; a sign of progress costs ~5 ns
constexpr unsigned kFlush = 0x8040U;             // of MXCSR: flush to zero, denormals are zero

}  // namespace

ThreadPool::ThreadPool(int threads, const std::function<void()>& on_start, Activity activity)
    : activity_(activity) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, on_start] { worker(on_start); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  if (workers_.empty() || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      task(i);
      if ((i & (kTasksBetweenSigns - 1)) == 0) activity_.progress();
    }
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    count_ = count;
    next_ = 0;
    busy_ = static_cast<int>(workers_.size());
    error_ = nullptr;
    ++generation_;
  }
  wake_.notify_all();
  drain();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
  task_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::drain() {
  try {
    for (std::int64_t i = next_++; i < count_; i = next_++) {
      (*task_)(i);
      if ((i & (kTasksBetweenSigns - 1)) == 0) activity_.progress();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    next_ = count_;
  }
}

void ThreadPool::worker(const std::function<void()>& on_start) {
  flush_denormals();
  if (on_start) on_start();
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
    }
    drain();
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
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
