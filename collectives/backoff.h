// How a thread waits for other ranks.
#pragma once

#include <cstdint>

namespace lockstep {

/// How many times a wait polls without sleeping.
constexpr std::int64_t kSpins = 2000;

/// A pause of a few dozen cycles in a spin loop.
void pause_core();

/// Whether ranks on this machine may spin at all. With more ranks than cores, or with one core for
/// the whole process, a spinning thread takes the core from the work that it waits for.
bool may_spin(int ranks_on_node);

/// Waits between two polls; `attempt` counts the polls of one wait from 0. The first 2,000 spin for
/// one pause each (if `spin`). Later ones sleep: 20 us at first, and up to 200 us after a longer
/// wait, so that a rank that waits for a slow one leaves the cores to it.
void back_off(std::int64_t attempt, bool spin);

/// Shortens short sleeps of the calling thread: Linux adds 50 us to each by default.
void sharpen_sleeps();

}  // namespace lockstep
