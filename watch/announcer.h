// Says what the watch found, on a thread of its own: a console that nobody reads must not keep the
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
  /// Waits until all is said.
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  /// Where messages go from now on besides standard error; null for nowhere. `is_console`: the log
  /// writes to the console, where a warning need not appear twice. Returns when the old one is no
  /// longer used.
  void set_log(Log* log, bool is_console);

  enum class Weight { kNote, kWarning, kError };
  /// `aloud`: on the console as well as in the log. A note goes to standard error alone.
  void say(Weight weight, std::string message, bool aloud);

  /// Returns when all is said, or after `patience`.
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
