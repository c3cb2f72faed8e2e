// Nothing hangs: a thread that knows when this rank last got on with its work, warns when that is
// long ago, and ends the job when it is too long ago.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/runtime/communicator.h"

namespace lockstep {

class Watchdog {
 public:
  struct Limits {
    double warn_s = 30;
    double abort_s = 300;
  };
  Watchdog(const Limits& limits, const Clock& clock, Communicator& communicator, Log& log);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The rank begins `activity` ("waiting for the loader", "training") at `step`: the clock of the
  /// stall starts anew.
  void begin(std::int64_t step, const char* activity);

 private:
  void run();
  void check();

  Limits limits_;
  const Clock& clock_;
  Communicator& communicator_;
  Log& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t step_ = 0;
  const char* activity_ = "starting";
  std::int64_t since_ns_;
  bool warned_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace lockstep
