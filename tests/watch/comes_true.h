// Waits for a condition, in tests.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace lockstep {

/// Whether the condition becomes true within ten seconds; checks every few milliseconds.
inline bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

}  // namespace lockstep
