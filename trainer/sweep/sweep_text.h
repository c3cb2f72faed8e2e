// What a sweep found.
#pragma once

#include <string>

#include "trainer/sweep/journal.h"

namespace lockstep {

/// A table of all points, the best first, and those that failed below with what they said.
std::string swept_text(const SweepJournal& journal);

}  // namespace lockstep
