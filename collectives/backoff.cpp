#include "collectives/backoff.h"

#include <immintrin.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "core/base/cores.h"

namespace lockstep {

void pause_core() {
  _mm_pause();
}

bool may_spin(int ranks_on_node) {
  return has_cores_for(ranks_on_node);
}

void back_off(std::int64_t attempt, bool spin) {
  if (spin && attempt < kSpins) {
    pause_core();
    return;
  }
  const std::int64_t sleeps = attempt - (spin ? kSpins : 0);
  const std::int64_t microseconds = std::min<std::int64_t>(200, 20 + sleeps / 2);
  const timespec duration{0, static_cast<long>(microseconds * 1000)};
  nanosleep(&duration, nullptr);  // woken early by a signal, it polls early
}

void sharpen_sleeps() {
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // nanoseconds; if refused, waits are coarser
}

}  // namespace lockstep
