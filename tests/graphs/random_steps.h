// What random graphs are made of. Each step adds nodes on values that are there or on fresh inputs;
// Refused if what it drew does not fit.
#pragma once

#include "tests/graphs/graph_builder.h"

namespace lockstep::testing {

/// One node of this op on random operands with random attributes. Every op has a case but kInput,
/// kConstant (which others bring along) and what only passes make (is_made_by_passes).
void add_random_op(GraphBuilder& b, Op op);
bool is_made_by_passes(Op op);

// random_movement.cpp: the cases of add_random_op for data movement.
void add_random_movement(GraphBuilder& b, Op op);
// random_contraction.cpp: for dots, convolutions, pooling and attention.
void add_random_contraction(GraphBuilder& b, Op op);

/// Several nodes in an arrangement that models are made of, on which passes and kernels specialize.
void add_random_pattern(GraphBuilder& b);

/// A float value, mostly of the graph's main dtype.
ValueId any_float(GraphBuilder& b, int min_rank = 0);
/// Any number of at least this rank.
ValueId any_number(GraphBuilder& b, int min_rank = 0);
/// Another value of x's type: one that is there, a smaller one broadcast, or a fresh one.
ValueId partner(GraphBuilder& b, ValueId x);
/// A random set of dimensions, none and all of them included.
std::vector<std::int64_t> some_dims(GraphBuilder& b, int rank);

}  // namespace lockstep::testing
