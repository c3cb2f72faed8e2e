// AttentionLoops for one format; included only by the sources compiled for one. `S` is a format:
//   Vector, Integers, Words kWidth lanes of 32 bits; GCC vector types
//   kPair                   elements in a unit
//   kRows, kVectors         of a product's block of accumulators
//   broadcast(unit)         a unit in every lane
//   multiply_add(a, b, c)   a * b + c of units, in every lane
//   fma(a, b, c)            a * b + c of f32
//   round(a, b)             if kPair is 2: lanes of a, then of b, as bf16
//   round_pairs(a, b)       likewise a0 b0 a1 b1 ...
//   interleave_low(a, b), interleave_high(a, b)   a0 b0 a1 b1 ... and the other half
// Everything is a template over it: an out-of-line copy of a function must not be linked into
// sources of another instruction set.
#pragma once

#include "core/kernels/cpu/attention_loops.h"
#include "core/kernels/cpu/attention_products_impl.h"
#include "core/kernels/cpu/attention_rows_impl.h"

namespace lockstep::attention_loops_impl {

template <class S>
constexpr AttentionLoops make_table() {
  AttentionLoops out = {
      .pair = S::kPair,
      .block = AttentionLoops::kBlock,
      .step = 1,
      .enter = nullptr,
      .leave = nullptr,
      .load_rows = load_rows<S>,
      .transpose = transpose<S>,
      .interleave = interleave<S>,
      .product = product<S>,
      .softmax = softmax<S>,
      .softmax_grad = softmax_grad<S>,
      .round_row = nullptr,
      .round_rows = nullptr,
      .dots = dots<S>,
      .store_rows = store_rows<S>,
  };
  if constexpr (S::kPair == 2) {
    out.round_row = round_row<S>;
    out.round_rows = round_rows<S>;
  }
  return out;
}

}  // namespace lockstep::attention_loops_impl
