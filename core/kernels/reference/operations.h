// The results of ops, by kind. Each function takes a node and the values of its operands, whose
// types fit (infer.h), and returns a value of the node's type, not yet rounded to it.
#pragma once

#include "core/ir/graph.h"
#include "core/kernels/reference/values.h"

namespace lockstep::reference {

// leaf.cpp
Value evaluate_iota(const Node& node);
Value evaluate_random_bits(const Node& node, Operands in);

// elementwise.cpp
Value evaluate_unary(const Node& node, Operands in);
Value evaluate_is_finite(const Node& node, Operands in);
Value evaluate_binary(const Node& node, Operands in);
Value evaluate_compare(const Node& node, Operands in);
Value evaluate_select(const Node& node, Operands in);
Value evaluate_convert(const Node& node, Operands in);

// movement.cpp
Value evaluate_broadcast(const Node& node, Operands in);
Value evaluate_reshape(const Node& node, Operands in);
Value evaluate_transpose(const Node& node, Operands in);
Value evaluate_slice(const Node& node, Operands in);
Value evaluate_dynamic_slice(const Node& node, Operands in);
Value evaluate_dynamic_update_slice(const Node& node, Operands in);
Value evaluate_pad(const Node& node, Operands in);
Value evaluate_concatenate(const Node& node, Operands in);
Value evaluate_gather(const Node& node, Operands in);
Value evaluate_scatter_add(const Node& node, Operands in);

// reduction.cpp
Value evaluate_reduce_sum(const Node& node, Operands in);
Value evaluate_reduce_product(const Node& node, Operands in);
Value evaluate_reduce_max(const Node& node, Operands in);
Value evaluate_reduce_min(const Node& node, Operands in);
Value evaluate_arg_reduce(const Node& node, Operands in);

// contraction.cpp
Value evaluate_dot_general(const Node& node, Operands in);

// window.cpp
Value evaluate_convolution(const Node& node, Operands in);
Value evaluate_convolution_grad_input(const Node& node, Operands in);
Value evaluate_convolution_grad_weight(const Node& node, Operands in);
Value evaluate_max_pool(const Node& node, Operands in);
Value evaluate_max_pool_grad(const Node& node, Operands in);
Value evaluate_avg_pool(const Node& node, Operands in);
Value evaluate_avg_pool_grad(const Node& node, Operands in);

// attention.cpp
Value evaluate_attention(const Node& node, Operands in);
Value evaluate_attention_grad(const Node& node, Operands in);

// collective.cpp: x[r] is rank r's operand, result[r] its result. Error kUsage if the node was made
// for another number of ranks.
std::vector<Value> evaluate_all_reduce(const Node& node, Operands x);
std::vector<Value> evaluate_reduce_scatter(const Node& node, Operands x);
std::vector<Value> evaluate_all_gather(const Node& node, Operands x);
std::vector<Value> evaluate_collective_broadcast(const Node& node, Operands x);

}  // namespace lockstep::reference
