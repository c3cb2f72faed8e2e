// How a thread waits for other ranks.
#pragma once

#include <cstdint>

namespace lockstep {

/// How often a wait may look again without sleeping.
constexpr std::int64_t kSpins = 2000;

/// A few dozen cycles of rest in a spin loop.
void pause_core();

/// Whether ranks on this machine may spin at all: with more ranks than cores, or with one core for
/// the whole process, spinning only keeps others from the work that is waited for.
bool may_spin(int ranks_on_node);

/// Whether this many threads could run at once on this machine, as far as this process may use it.
bool has_cores_for(int threads);

/// Waits between two polls; `attempt` counts the polls of one wait from 0. The first 2,000 spin for
/// one pause each (if `spin`), later ones sleep: 20 us at first, then longer the longer the wait
/// has lasted, to 200 us, so that a rank that waits for a slow one leaves it the cores.
void back_off(std::int64_t attempt, bool spin);

/// Makes short sleeps of the calling thread short: Linux adds 50 us by default.
void sharpen_sleeps();

}  // namespace lockstep
