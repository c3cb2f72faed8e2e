// Tells the sanitizers that the thread changes its stack: without it, they would take what a fiber
// leaves behind for errors of the next one. Nothing where the program is not instrumented.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace lockstep {

/// A stack, as the sanitizers know it.
struct WatchedStack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fake = nullptr;    ///< the address sanitizer's second stack
  void* thread = nullptr;  ///< what the thread sanitizer takes for a thread
};

#if defined(__SANITIZE_ADDRESS__)

inline void watch_stack(WatchedStack&) {}
inline void forget_stack(WatchedStack&) {}
/// Just before the switch; `ends`: nothing will run on `from` again.
inline void before_switch(WatchedStack& from, WatchedStack& to, bool ends) {
  __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake, to.bottom, to.bytes);
}
/// Just after it, on the stack `now`.
inline void after_switch(WatchedStack& now, WatchedStack& before) {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(now.fake, &bottom, &bytes);
  before.bottom = bottom;
  before.bytes = bytes;
}

#elif defined(__SANITIZE_THREAD__)

inline void watch_stack(WatchedStack& stack) {
  stack.thread = __tsan_create_fiber(0);
}
inline void forget_stack(WatchedStack& stack) {
  __tsan_destroy_fiber(stack.thread);
}
inline void before_switch(WatchedStack& from, WatchedStack& to, bool) {
  if (from.thread == nullptr) from.thread = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.thread, 0);
}
inline void after_switch(WatchedStack&, WatchedStack&) {}

#else

inline void watch_stack(WatchedStack&) {}
inline void forget_stack(WatchedStack&) {}
inline void before_switch(WatchedStack&, WatchedStack&, bool) {}
inline void after_switch(WatchedStack&, WatchedStack&) {}

#endif

}  // namespace lockstep
