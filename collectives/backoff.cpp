#include "collectives/backoff.h"

#include <immintrin.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <time.h>

#include <algorithm>

namespace lockstep {

void pause_core() {
  _mm_pause();
}

bool has_cores_for(int threads) {
  cpu_set_t allowed;
  const bool one_core =
      sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < 2;
  return threads <= get_nprocs() && !one_core;
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
