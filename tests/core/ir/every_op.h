// A graph that contains every op at least once, for tests that must cover all of them.
#pragma once

#include <string_view>

namespace lockstep::testing {

inline constexpr std::string_view kEveryOp = R"(
%x = f32[2,3] input() {kind=batch} %y = f32[2,3] input() %s = f32[] input() {kind=scalar}
%k = i64[] input() %i = i32[2,3] input() %p = bool[2,3] input() %n = i32[4] input()
%c = f32[2] constant() {value=[0.5, -inf]}
%iota = f32[4,2] iota() {shape=[4,2], axis=1, to=f32}
%bits = i32[5] random_bits(%k, %k, %k) {shape=[5], stream=-7}
%rank = i32[] replica_id()
%negate = f32[2,3] negate(%x) %abs = f32[2,3] abs(%x) %sign = f32[2,3] sign(%x)
%exp = f32[2,3] exp(%x) %log = f32[2,3] log(%x) %tanh = f32[2,3] tanh(%x) %erf = f32[2,3] erf(%x)
%sqrt = f32[2,3] sqrt(%x) %rsqrt = f32[2,3] rsqrt(%x) %sin = f32[2,3] sin(%x)
%cos = f32[2,3] cos(%x) %floor = f32[2,3] floor(%x) %ceil = f32[2,3] ceil(%x)
%round = f32[2,3] round_even(%x) %finite = bool[2,3] is_finite(%x) %not = bool[2,3] not(%p)
%add = f32[2,3] add(%x, %y) %subtract = f32[2,3] subtract(%x, %y)
%multiply = f32[2,3] multiply(%x, %y) %divide = f32[2,3] divide(%x, %y)
%remainder = f32[2,3] remainder(%x, %y) %power = f32[2,3] power(%x, %y)
%maximum = f32[2,3] maximum(%x, %y) %minimum = f32[2,3] minimum(%x, %y)
%and = i32[2,3] and(%i, %i) %or = i32[2,3] or(%i, %i) %xor = i32[2,3] xor(%i, %i)
%left = i32[2,3] shift_left(%i, %i) %right = i32[2,3] shift_right_logical(%i, %i)
%equal = bool[2,3] equal(%x, %y) %not_equal = bool[2,3] not_equal(%x, %y)
%less = bool[2,3] less(%x, %y) %less_equal = bool[2,3] less_equal(%x, %y)
%greater = bool[2,3] greater(%x, %y) %greater_equal = bool[2,3] greater_equal(%x, %y)
%select = f32[2,3] select(%p, %x, %y) %convert = bf16[2,3] convert(%x) {to=bf16}
%broadcast = f32[4,2,3] broadcast(%x) {shape=[4,2,3], dims=[1,2]}
%reshape = f32[6] reshape(%x) {shape=[6]} %transpose = f32[3,2] transpose(%x) {dims=[1,0]}
%slice = f32[2,2] slice(%x) {start=[0,0], limit=[2,3], stride=[1,2]}
%dslice = f32[1,2] dynamic_slice(%x, %k, %k) {shape=[1,2]}
%dupdate = f32[2,3] dynamic_update_slice(%x, %dslice, %k, %k)
%pad = f32[3,5] pad(%x, %s) {low=[1,0], high=[0,2]}
%concatenate = f32[4,3] concatenate(%x, %y) {axis=0}
%gather = f32[4,3] gather(%x, %n) {axis=0} %scatter = f32[2,3] scatter_add(%x, %n, %gather) {axis=0}
%sum = f32[2] reduce_sum(%x) {dims=[1]} %product = f32[3] reduce_product(%x) {dims=[0]}
%max = f32[] reduce_max(%x) {dims=[0,1]} %min = f32[2] reduce_min(%x) {dims=[1]}
%arg_max = i32[2] arg_max(%x) {axis=1} %arg_min = i32[3] arg_min(%x) {axis=0}
%dot = f32[2,2] dot_general(%x, %y) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], to=f32}
%im = f32[1,2,4,4] input() %w = f32[2,2,3,3] input()
%conv = f32[1,2,4,4] convolution(%im, %w) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
%conv_x = f32[1,2,4,4] convolution_grad_input(%conv, %w) {shape=[1,2,4,4], stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
%conv_w = f32[2,2,3,3] convolution_grad_weight(%im, %conv) {shape=[2,2,3,3], stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
%pool = f32[1,2,2,2] max_pool(%im) {stride=[2,2], padding=[0,0,0,0], window=[2,2]}
%pool_x = f32[1,2,4,4] max_pool_grad(%im, %pool) {stride=[2,2], padding=[0,0,0,0], window=[2,2]}
%avg = f32[1,2,2,2] avg_pool(%im) {stride=[2,2], padding=[0,0,0,0], window=[2,2]}
%avg_x = f32[1,2,4,4] avg_pool_grad(%avg) {shape=[1,2,4,4], stride=[2,2], padding=[0,0,0,0], window=[2,2]}
%q = f32[1,3,2,4] input() %mask = bool[1,3] input()
%att = f32[1,3,2,4] attention(%q, %q, %q, %mask, %k, %k, %k) {causal=true, masked=true, scale=0.5, dropout=0.1, stream=3}
%qkv = f32[1,3,3,2,4] input()
%att_p = f32[1,3,2,4] attention(%qkv) {causal=true, scale=0.5, dropout=0}
%att_dp = f32[1,3,3,2,4] attention_grad(%qkv, %att_p, %att_p) {causal=true, scale=0.5, dropout=0}
%att_x = f32[72] attention_grad(%q, %q, %q, %att, %att) {causal=false, scale=0.5, dropout=0}
%barrier = f32[2,3] optimization_barrier(%x)
%call = f32[2,3] call(%x) body { %a = f32[2,3] input() %b = f32[2,3] exp(%a) return %b }
%fusion = f32[2,3] fusion(%x) {shape=[2,3], axis=1} body {
  %a = f32[2,3] input() %b = f32[2,3] exp(%a) %c = f32[2] reduce_sum(%b) {dims=[1]} return %b, %c }
%group_result = f32[2] group_result(%fusion) {index=1}
%host = i32[2,3] host_call(%i, %x) {function="reverse", version=1, results=[i32[2,3],f32[2,3]]}
%further = f32[2,3] group_result(%host) {index=1}
%all = f32[2,3] all_reduce(%x) %scatter_sum = f32[1,3] reduce_scatter(%x) {ranks=2}
%gathered = f32[4,3] all_gather(%x) {ranks=2} %root = f32[2,3] collective_broadcast(%x) {root=1}
return %all, %barrier
)";

}  // namespace lockstep::testing
