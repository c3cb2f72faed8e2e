// The time for which threads were ready to run and had no core, because others ran on all of them:
// another process, or other threads of this one. Linux counts it for each thread
// (/proc/PID/task/TID/schedstat). In a virtual machine this is the machine's own load: what its
// host takes away is not seen.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace lockstep {

/// Thread-safe.
class CoreWait {
 public:
  CoreWait() = default;
  ~CoreWait();
  CoreWait(const CoreWait&) = delete;
  CoreWait& operator=(const CoreWait&) = delete;

  /// Counts the calling thread, which must not end before the last reading.
  void add_this_thread();

  /// The longest such time of any counted thread since the last reading; at the first one, since
  /// the thread began. Nothing if this kernel does not count it. About 2 us for each thread.
  std::optional<std::int64_t> read_longest_ns();

 private:
  struct Thread {
    int id = 0;
    int fd = -1;             ///< of its counts; opened at the first reading
    std::int64_t total = 0;  ///< ns, at the last reading
  };
  /// The thread's total; nothing if there is none to read.
  static std::optional<std::int64_t> total_ns(Thread& thread);

  std::mutex mutex_;
  std::vector<Thread> threads_;
};

}  // namespace lockstep
