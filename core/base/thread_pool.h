// The device's cores. parallel_for splits work over a fixed number of threads; the caller is one of
// them. The division of work never changes results: tasks write disjoint outputs.
//
// Many kernels take less time than it takes to wake a thread. So a worker takes part in a call only
// if it is awake before the tasks have run out, and the caller waits for tasks that a worker has
// begun, never for a worker that still sleeps. Between two calls a worker spins for a moment, if it
// may, before it sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/activity.h"

namespace lockstep {

struct PoolOptions {
  std::function<void()> on_start = {};  ///< runs first on every worker
  Activity activity = {};               ///< counts tasks as progress, a few at a time
  bool spin = true;                     ///< workers may spin; false if others need the cores
};

class ThreadPool {
 public:
  /// `threads` >= 1 counts the caller; threads - 1 workers are started, each with denormals
  /// flushed. Error kUsage beyond 4,096 threads.
  explicit ThreadPool(int threads, PoolOptions options = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls task(i) once for every i in [0, count), in any order, and returns when all are done.
  /// The first exception thrown by a task is rethrown here. One caller at a time.
  void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& task);

  /// Nanoseconds that the workers, without the caller, have spent in tasks so far.
  std::int64_t worker_ns() const { return worker_ns_.load(std::memory_order_relaxed); }

 private:
  void worker();
  bool join_next_call(std::uint32_t& seen);
  std::uint32_t wait_for_change(std::uint32_t state);
  void close();
  void drain();

  PoolOptions options_;
  /// The call that runs: its number, whether workers may still join it, and how many have.
  std::atomic<std::uint32_t> state_{0};
  std::atomic<bool> stop_{false};
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::int64_t> worker_ns_{0};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> workers_;
};

/// Sets flush-to-zero and denormals-are-zero on the calling thread. Every thread that does
/// arithmetic on tensors calls this once; else bits would depend on which thread did the work.
void flush_denormals();

/// While alive, this thread does not flush denormals: for code outside kernels. For denormals,
/// glibc's logarithms and powers give wrong results on a thread that flushes them to zero.
class DenormalsKept {
 public:
  DenormalsKept();
  ~DenormalsKept();
  DenormalsKept(const DenormalsKept&) = delete;
  DenormalsKept& operator=(const DenormalsKept&) = delete;

 private:
  unsigned before_;
};

}  // namespace lockstep
