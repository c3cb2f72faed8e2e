#include "collectives/tree_sum.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/base/error.h"
#include "core/base/reduce_tree.h"

namespace lockstep {
namespace {

// Partial sums of one block of elements stay in the first-level cache.
constexpr std::int64_t kBlock = 512;

// `out` is `a`, `b`, or apart from both, so iterations are independent and the loop may be a vector
// loop; an element's sum does not depend on where in it the element falls.
template <class T>
void add(const T* a, const T* b, T* out, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t k = 0; k < count; ++k) out[k] = a[k] + b[k];
}

// Only the last addition of a block writes to `result`: by then every operand has been read.
template <class T>
void sum_blocks(std::span<const std::byte* const> operands, std::span<const std::int64_t> leaves,
                std::byte* result_bytes, std::int64_t count) {
  auto* result = reinterpret_cast<T*>(result_bytes);
  const auto ranks = static_cast<std::int64_t>(operands.size());
  std::vector<T> partial_sums(static_cast<std::size_t>((ranks - 2) * kBlock));
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t length = std::min(kBlock, count - begin);
    std::int64_t to_come = ranks - 1;
    const auto operand = [&](std::int64_t rank) {
      return reinterpret_cast<const T*>(operands[static_cast<std::size_t>(rank)]) + begin;
    };
    const auto combine = [&](const T* left, const T* right) -> const T* {
      --to_come;
      T* out = to_come == 0 ? result + begin : partial_sums.data() + (to_come - 1) * kBlock;
      add(left, right, out, length);
      return out;
    };
    tree_reduce_subtrees(leaves, 0, operand, combine);
  }
}

}  // namespace

bool can_sum(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kI32:
    case DType::kI64: return true;
    case DType::kBF16:
    case DType::kF16:
    case DType::kU8:
    case DType::kBool: return false;
  }
  __builtin_unreachable();
}

void tree_sum(DType dtype, std::span<const std::byte* const> operands, std::byte* result,
              std::int64_t count) {
  const std::vector<std::int64_t> leaves(operands.size(), 1);
  tree_sum(dtype, operands, leaves, result, count);
}

void tree_sum(DType dtype, std::span<const std::byte* const> operands,
              std::span<const std::int64_t> leaves, std::byte* result, std::int64_t count) {
  LS_CHECK(!operands.empty() && operands.size() == leaves.size(), "{} operands of {} subtrees",
           operands.size(), leaves.size());
  LS_CHECK(can_sum(dtype), "{} cannot be summed", name_of(dtype));
  if (count == 0) return;
  if (operands.size() == 1) {
    std::memmove(result, operands[0], static_cast<std::size_t>(count) * size_of(dtype));
    return;
  }
  visit_dtype(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      sum_blocks<T>(operands, leaves, result, count);
    } else if constexpr (std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>) {
      sum_blocks<std::make_unsigned_t<T>>(operands, leaves, result,
                                          count);  // overflow is defined: it wraps
    }
  });
}

}  // namespace lockstep
