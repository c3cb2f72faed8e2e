// The simulated accelerator: memory of its own with a hard limit, an asynchronous command stream on
// its own thread, threads that copy between host and device, and cores that run one kernel at a
// time. Real arithmetic on the CPU; every copy is explicit and counted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/activity.h"
#include "core/base/core_wait.h"
#include "core/base/spans.h"
#include "core/base/thread_pool.h"
#include "core/runtime/allocator.h"
#include "core/runtime/device_tensor.h"
#include "core/virtual_time/virtual_clock.h"

namespace lockstep {

struct DeviceOptions {
  std::size_t memory_bytes = 0;  ///< hard limit; 0: none
  std::size_t host_bytes = 0;    ///< what the host can give for it; 0: unknown
  int threads = 1;               ///< cores that run one kernel
  int queue_depth = 2;           ///< executions that may wait in the stream
  int transfer_threads = 1;      ///< host to device copies that run at once
  bool may_spin = true;          ///< its cores may spin between two kernels
  Activity activity = {};        ///< counts commands, tasks and copies

  /// The number of steps that a host has started and not read yet, if it reads them queue_depth
  /// steps late to avoid waiting: memory held until the read is needed that many times.
  int steps_in_flight() const { return queue_depth + 1; }
};

class Device {
 public:
  /// Error kUsage for fewer than one thread or one place in the queue.
  Device(const DeviceOptions& options, SpanStream& spans);
  /// Finishes all queued commands.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Allocator& allocator() { return allocator_; }
  ThreadPool& pool() { return *pool_; }  ///< for commands of the stream only
  SpanStream& spans() { return spans_; }
  std::thread::id thread_id() const;            ///< of the stream
  CoreWait& core_wait() { return core_wait_; }  ///< of its thread and its cores
  const DeviceOptions& options() const { return options_; }

  /// Queues a command; commands run in order on the device's thread. Blocks while queue_depth
  /// commands are waiting. The command must not throw.
  void enqueue(std::function<void()> command);
  /// Whether the stream is empty, or will be when its current command ends.
  bool has_drained() const;
  /// Records the number of waiting commands as a level.
  void tell_queue_depth();
  /// Returns when everything queued so far has run.
  void synchronize();

  /// Starts copying host tensors to the device, one per micro-batch (or just one). All have one
  /// type. Their memory is taken from `room` unless that is null. Counted in TransferToDevice.
  /// Failure to allocate marks the tensor failed. Thread-safe.
  DeviceTensorPtr copy_to_device(std::vector<HostTensor> micro_batches, std::string label,
                                 std::shared_ptr<Reservation> room = nullptr);
  /// A tensor of zeros, made on the device. Failure to allocate marks it failed. Thread-safe.
  DeviceTensorPtr make_zeros(const Type& type, std::string label);
  /// Waits for the value (counted in DeviceLockWait) and copies it (TransferFromDevice). A read
  /// after which the stream is empty is counted in DrainingRead as well. Rethrows the error of a
  /// step that failed to make the value. Error kUsage if there is one value per micro-batch,
  /// kInternal if a step has taken its memory (a reader must have a lease).
  HostTensor copy_to_host(const DeviceTensor& tensor);

  /// Keeps virtual time from now on: null if nobody does.
  void set_virtual_clock(VirtualClock* clock) { virtual_clock_ = clock; }
  VirtualClock* virtual_clock() const { return virtual_clock_; }

 private:
  /// A thread that runs commands in order.
  class Worker;

  DeviceOptions options_;
  SpanStream& spans_;
  Allocator allocator_;
  CoreWait core_wait_;  ///< outlives the threads that it counts
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Worker> stream_;
  std::vector<std::unique_ptr<Worker>> transfers_;
  std::atomic<std::size_t> next_transfer_{0};
  VirtualClock* virtual_clock_ = nullptr;
};

}  // namespace lockstep
