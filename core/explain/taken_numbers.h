// Which ops take a number of a recorded graph, and so which lines reports name: equal numbers are
// recorded once, by the first line that takes them.
#pragma once

#include "core/explain/changed_ops.h"
#include "core/explain/differences.h"

namespace lockstep {

/// A number and its counterpart in the old graph.
struct NumberPair {
  ValueId now;
  ValueId old;
};

/// Whether some op takes the new number where it took the old one, and is one op in both graphs.
/// Otherwise each number came or went with ops that only one graph has.
bool is_taken_alike(const Comparison& graphs, const ChangedOps& ops, NumberPair number);

/// Whether the ops that take two numbers, and those that work on their results, are the same ones
/// of the same lines up to where the ways meet, as where a loop takes them: not where an expression
/// has both, as r and 1 - r.
bool are_taken_in_one_way(const Comparison& graphs, NumberPair a, NumberPair b);

/// Adds to the subject the other lines that take it.
void tell_other_lines(const Comparison& graphs, NumberPair number, Difference& difference);

/// If the new number equals another line's, which recorded it: names the place of the old number,
/// or that of `taker`.
void tell_own_place(const Comparison& graphs, NumberPair number, ValueId taker,
                    Difference& difference);

}  // namespace lockstep
