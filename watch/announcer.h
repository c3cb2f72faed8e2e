// Prints and logs what the watch found, on its own thread: a blocked console must not keep the
// watch from ending the job.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/log.h"

namespace lockstep {

class Announcer {
 public:
  Announcer() = default;
  /// Waits until all messages are written.
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  /// Sets the log that messages go to besides standard error; null for none. `is_console`: the log
  /// writes to the console, so a warning is not printed twice. Returns when the old log is no
  /// longer used.
  void set_log(Log* log, bool is_console);

  enum class Weight { kNote, kWarning, kError };
  /// `aloud`: on the console as well as in the log. A note goes to standard error only.
  void say(Weight weight, std::string message, bool aloud);

  /// Returns when all messages are written, or after `patience`.
  void wait(std::chrono::milliseconds patience);

 private:
  struct Message {
    Weight weight;
    std::string text;
    bool aloud;
  };
  void run();
  void write(const Message& message);

  std::mutex log_mutex_;  ///< held while a message is written
  Log* log_ = nullptr;
  bool log_is_console_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  bool writing_ = false;
  bool stop_ = false;
  std::thread thread_;  ///< started with the first message
};

}  // namespace lockstep
