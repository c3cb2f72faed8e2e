// Which ops take a number of a recorded graph, and so where it is told: equal numbers are recorded
// once, by the first line that takes them.
#pragma once

#include "core/explain/differences.h"

namespace lockstep {

/// A number and what stands for it in the old graph.
struct NumberPair {
  ValueId now;
  ValueId old;
};

/// Whether some op takes the new number where it took the old one. Else both came with ops.
bool is_taken_alike(const Comparison& graphs, NumberPair number);

/// Whether the ops that take two numbers, and those that work on their results, are the same ones
/// of the same lines up to where the ways meet, as where a loop takes them: not where an expression
/// has both, as r and 1 - r.
bool are_taken_in_one_way(const Comparison& graphs, NumberPair a, NumberPair b);

/// Adds to the subject the other lines that take it.
void tell_other_lines(const Comparison& graphs, NumberPair number, Difference& difference);

/// Where the new number equals another line's, which recorded it: names the place where it stood
/// before, or that of `taker`.
void tell_own_place(const Comparison& graphs, NumberPair number, ValueId taker,
                    Difference& difference);

}  // namespace lockstep
