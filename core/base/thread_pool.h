// The device's cores. parallel_for splits work over a fixed number of threads; the caller is one of
// them. The division of work never changes results: tasks write disjoint outputs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/activity.h"

namespace lockstep {

class ThreadPool {
 public:
  /// `threads` >= 1 counts the caller; threads - 1 workers are started, each with denormals
  /// flushed. `on_start` runs first on every worker. Tasks are counted as the activity's progress,
  /// a few at a time.
  explicit ThreadPool(int threads, const std::function<void()>& on_start = {},
                      Activity activity = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls task(i) once for every i in [0, count), in any order, and returns when all are done.
  /// The first exception thrown by a task is rethrown here. One caller at a time.
  void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& task);

 private:
  void worker(const std::function<void()>& on_start);
  void drain();

  Activity activity_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::uint64_t generation_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
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
