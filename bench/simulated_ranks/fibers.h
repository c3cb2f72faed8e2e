// Functions that take turns in one thread: each has a stack of its own and runs until it suspends
// itself. 4,096 of them take a few pages of memory each, where as many threads would not start.
#pragma once

#include <functional>
#include <memory>

namespace lockstep {

class Fibers {
 public:
  /// Fiber i will run body(i), which must not throw, on a stack of kStackBytes. A page that cannot
  /// be touched lies behind each stack: one that overflows ends the process.
  Fibers(int count, std::function<void(int)> body);
  /// All that have begun must have ended.
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Begins or continues this fiber; returns when it suspends itself or ends. Not from a fiber.
  void resume(int fiber);
  bool ended(int fiber) const;

  /// Returns to the caller of resume(), and continues with the next resume() of the fiber that
  /// calls it. Not while an exception is being handled: the fibers share the thread's state of it.
  void suspend();

  static constexpr int kStackBytes = 64 * 1024;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
