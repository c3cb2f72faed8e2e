// Feeds batches to the device: a thread takes them from the loader and starts their copies, `depth`
// steps ahead of the training loop. Memory for the maximum number of batches is reserved at the
// start, so that a device with too little memory fails then, and not when the loader is fast.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/device.h"
#include "data/loader.h"

namespace lockstep {

/// One step's fields on the device, each with one value per micro-batch of this rank.
struct DeviceBatch {
  std::int64_t step = 0;
  std::map<std::string, DeviceTensorPtr> fields;
  std::vector<std::string> skipped = {};  ///< StepBatch::skipped
  std::int64_t bytes = 0;                 ///< of all fields
  std::int64_t cpu_ns = 0;                ///< StepBatch::cpu_ns
};

/// The maximum number of batches on the device: those fed ahead, and those of steps in flight.
std::int64_t batches_on_device(const DeviceOptions& device, std::int64_t depth);

class DeviceFeed {
 public:
  /// `step_bytes`: device memory of a step's batches. Error kOutOfMemory.
  DeviceFeed(Loader& loader, Device& device, std::int64_t depth, std::int64_t step_bytes);
  ~DeviceFeed();
  DeviceFeed(const DeviceFeed&) = delete;
  DeviceFeed& operator=(const DeviceFeed&) = delete;

  /// Blocks until the next step's copies have been started. Rethrows the loader's error.
  DeviceBatch next();

 private:
  void run();
  void tell_prefetched();  ///< requires the lock

  Loader& loader_;
  Device& device_;
  std::size_t depth_;
  std::shared_ptr<Reservation> room_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<DeviceBatch> ready_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace lockstep
