// The steps that build random graphs. Each step adds nodes on existing values or on new inputs;
// Refused if the drawn nodes do not fit.
#pragma once

#include "tests/graphs/graph_builder.h"

namespace lockstep::testing {

/// One node of this op on random operands with random attributes. Every op has a case except
/// kInput, kConstant (added by other cases) and ops that only passes make (is_made_by_passes).
void add_random_op(GraphBuilder& b, Op op);
bool is_made_by_passes(Op op);

// random_movement.cpp: the cases of add_random_op for data movement.
void add_random_movement(GraphBuilder& b, Op op);
// random_contraction.cpp: for dots, convolutions, pooling and attention.
void add_random_contraction(GraphBuilder& b, Op op);

/// Several nodes in a pattern of models, for which passes and kernels have special cases.
void add_random_pattern(GraphBuilder& b);

/// A float value, mostly of the graph's main dtype.
ValueId any_float(GraphBuilder& b, int min_rank = 0);
/// A value of a numeric dtype, of at least this rank.
ValueId any_number(GraphBuilder& b, int min_rank = 0);
/// Another value of x's type: an existing one, a smaller one broadcast, or a new one.
ValueId partner(GraphBuilder& b, ValueId x);
/// A random set of dimensions; may be empty or contain all.
std::vector<std::int64_t> some_dims(GraphBuilder& b, int rank);

}  // namespace lockstep::testing
