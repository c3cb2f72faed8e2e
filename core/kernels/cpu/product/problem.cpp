#include "core/kernels/cpu/product/problem.h"

#include "core/ir/infer.h"
#include "core/kernels/cpu/product/tuning.h"

namespace lockstep::product {

Problem::Problem(const Node& node, Types operands, const Target& target)
    : result(node.type.dtype), target(target) {
  const DotDims dims = dot_dims(operands[0], operands[1], node.attrs);
  batch = dims.batch;
  m = dims.m;
  n = dims.n;
  k = dims.k;
  const IntView batches[2] = {node.attrs.ints(Attr::kLhsBatch), node.attrs.ints(Attr::kRhsBatch)};
  const IntView contracts[2] = {node.attrs.ints(Attr::kLhsContract),
                                node.attrs.ints(Attr::kRhsContract)};
  DotRole roles[2][3];  // operand: batch, free, contract
  for (int side = 0; side < 2; ++side) {
    const Shape& shape = operands[static_cast<std::size_t>(side)].shape;
    for (const std::int64_t d : batches[side]) roles[side][0].add(shape, d);
    for (const int d : side == 0 ? dims.lhs_free : dims.rhs_free) roles[side][1].add(shape, d);
    for (const std::int64_t d : contracts[side]) roles[side][2].add(shape, d);
  }
  a = plan_dot_operand(operands[0], roles[0][0], roles[0][1], roles[0][2], m, k);
  b = plan_dot_operand(operands[1], roles[1][0], roles[1][2], roles[1][1], k, n);
  by_matrix = batches[0].empty() && contracts[0].size() == 1 &&
              contracts[0][0] == operands[0].shape.rank() - 1 && operands[1].shape.rank() == 2;
  by_transposed_matrix = by_matrix && contracts[1][0] == 1;
}

Memory Problem::at(const Memory& whole, std::int64_t first_batch, std::int64_t row,
                   std::int64_t column) const {
  const auto bytes_of = [](DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); };
  return {whole.a + (first_batch * a.batch_stride + row * a.strides.row) * bytes_of(a.stored),
          whole.b + (first_batch * b.batch_stride + column * b.strides.column) * bytes_of(b.stored),
          whole.c + (first_batch * m * n + row * n + column) * bytes_of(result)};
}

bool aliases_a(const Problem& p) {
  return p.a.stored == DType::kF32 && p.k >= tuning::aliased::kColumns &&
         p.a.strides.column * 4 % tuning::aliased::kBytes == 0;
}

bool copies_a(const Problem& p) {
  return aliases_a(p) && p.k >= tuning::aliased::kCopyColumns &&
         p.n <= tuning::aliased::kNarrowColumns;
}

bool multiplies_bf16(const Problem& p) {
  return p.a.stored == DType::kBF16 && p.target.bf16 != Bf16Units::kNone &&
         (p.result == DType::kBF16 || p.result == DType::kF32);
}

bool prepares_b(const Problem& p) {
  const bool gathered =
      p.b.strides.column != 1 && p.b.strides.column * 2 % tuning::prepared::kGatheredBytes == 0;
  return multiplies_bf16(p) && p.batch == 1 && p.m >= tuning::prepared::kRows &&
         p.n >= tuning::prepared::kColumns && p.a.strides.column == 1 && !p.b.copied && !gathered;
}

}  // namespace lockstep::product
