// A one-shot event: an action finished, or failed with an error that every waiter receives.
// Streams, copies and collectives are chained with events.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep {

class Event {
 public:
  /// An event that has already happened.
  static std::shared_ptr<Event> completed();

  void set();                           ///< marks success; a second call is ignored
  void fail(std::exception_ptr error);  ///< marks failure; ignored if already marked

  bool is_ready() const;             ///< set or failed
  std::exception_ptr error() const;  ///< null unless failed
  void wait() const;                 ///< blocks; rethrows the failure
  void wait_quietly() const;         ///< blocks; does not throw
  /// Runs `f` when the event is marked: at once if it is marked already, else on the thread that
  /// marks it.
  void on_ready(std::function<void()> f);

 private:
  void finish(std::exception_ptr error);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool ready_ = false;
  std::exception_ptr error_;
  std::vector<std::function<void()>> callbacks_;
};

using EventPtr = std::shared_ptr<Event>;

}  // namespace lockstep
