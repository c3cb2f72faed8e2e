// The makers of op cases, by kind of op. Each draws attributes and operands that fit `op`.
#pragma once

#include "tests/core/ops/cases/draw.h"
#include "tests/core/ops/cases/op_cases.h"

namespace lockstep {

// cases_elementwise.cpp
OpCase make_unary(Op op, Draw& draw);
OpCase make_binary(Op op, Draw& draw);
OpCase make_compare(Op op, Draw& draw);
OpCase make_select(Op op, Draw& draw);
OpCase make_convert(Op op, Draw& draw);

// cases_movement.cpp
OpCase make_iota(Op op, Draw& draw);
OpCase make_random_bits(Op op, Draw& draw);
OpCase make_broadcast(Op op, Draw& draw);
OpCase make_reshape(Op op, Draw& draw);
OpCase make_transpose(Op op, Draw& draw);
OpCase make_slice(Op op, Draw& draw);
OpCase make_dynamic_slice(Op op, Draw& draw);
OpCase make_dynamic_update_slice(Op op, Draw& draw);
OpCase make_pad(Op op, Draw& draw);
OpCase make_concatenate(Op op, Draw& draw);
OpCase make_gather(Op op, Draw& draw);
OpCase make_scatter_add(Op op, Draw& draw);

// cases_contraction.cpp
OpCase make_reduce(Op op, Draw& draw);
OpCase make_arg_reduce(Op op, Draw& draw);
OpCase make_dot_general(Op op, Draw& draw);
OpCase make_convolution(Op op, Draw& draw);  ///< and both its gradients
OpCase make_pool(Op op, Draw& draw);         ///< maximum and average, and their gradients
OpCase make_attention(Op op, Draw& draw);    ///< and its gradient

// cases_control.cpp
OpCase make_identity(Op op, Draw& draw);  ///< barrier, and collectives on one rank
OpCase make_replica_id(Op op, Draw& draw);
OpCase make_call(Op op, Draw& draw);       ///< a body of smooth functions
OpCase make_fusion(Op op, Draw& draw);     ///< a body of exactly rounded f32 ops
OpCase make_host_call(Op op, Draw& draw);  ///< of reverse_function()

}  // namespace lockstep
