// A fused group lowered to loops, independent of the instruction set: the input of code generation.
//
// The group's domain becomes rows and columns, each a list of dimensions that were merged wherever
// all operands allow it. A row is computed in phases: each phase is one loop over the columns, and
// ends with the row reductions that later phases use. A value of an earlier phase is computed again
// if that is cheap, else kept in a row of staging memory. Broadcasts cost nothing: they are views,
// pushed down to the leaves.
//
// A nest without rows is *flat*: one loop over all elements, which tasks divide. The count of a
// flat nest whose leaves are all contiguous is not part of its code, so that one function serves
// all sizes. The sizes of rows are not part of it either: see row_numbers.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep::codegen {

/// Elements in one vector of generated code, for every instruction set.
inline constexpr std::int64_t kLanes = 16;

/// The loops that a value varies with.
enum class Level : std::uint8_t { kScalar, kRow, kFull };

/// An index as a linear function of the loops' coordinates: an offset plus the sum of coordinate
/// times stride.
struct View {
  std::vector<std::int64_t> rows;     ///< one stride per row dimension
  std::vector<std::int64_t> columns;  ///< one stride per column dimension
  std::int64_t offset = 0;
  friend bool operator==(const View&, const View&) = default;
};

/// Whether such coordinates do not move the index: strides of one of the two groups.
inline bool is_zero(const std::vector<std::int64_t>& strides) {
  return std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 0; });
}

struct Value {
  enum class Kind : std::uint8_t {
    kLoad,      ///< element `view` of operand `operand`
    kConstant,  ///< `constant`, an element of dtype
    kIota,      ///< the index `view` itself, as dtype
    kRandom,    ///< Philox word `view`; operands are seed, stream, step and micro-batch
    kOp,        ///< `op` on operands
    kReduce,    ///< `op`, a reduction, of operands[0] over the columns
  };
  Kind kind = Kind::kOp;
  Op op = Op::kInput;
  DType dtype = DType::kF32;
  Level level = Level::kScalar;
  int phase = 0;  ///< the first loop that can compute it, or before which it is known
  std::vector<int> operands;
  int operand = -1;
  View view;
  std::uint64_t constant = 0;
  int stage = -1;  ///< the staging row that keeps it for later phases
};

/// A result of the group, or a part of a result that is a concatenation.
struct Output {
  enum class Role : std::uint8_t {
    kFull,    ///< stored by the loop of its phase
    kRow,     ///< stored at the end of the row
    kColumn,  ///< `value` is summed over the rows into the result, f32 or integers, zeroed before
    kTotal,   ///< `value` is summed into element `row` (flat: `task`) of the result, likewise
  };
  Role role = Role::kFull;
  int value = -1;
  int result = 0;  ///< the group's result that it belongs to
  DType dtype = DType::kF32;
  View view;  ///< kFull, kRow: the place of an element
  /// kTotal: whether the columns are summed too, or the value is one number per row.
  bool over_columns = false;
};

/// One loop over the columns of a row, or the only one of a flat nest.
struct Loop {
  std::vector<int> values;      ///< full values to compute, or to load from staging, in this order
  std::vector<int> reductions;  ///< values of kind kReduce
  std::vector<int> stores;      ///< outputs: full ones to store, columns and totals to sum
  std::vector<int> stages;      ///< values to keep in staging
  double weight = 0;            ///< flops and memory operations of an element
};

/// A number that code receives with each call. Equal values of two kinds are two numbers, so that
/// the code is the same if a size happens to equal a stride.
struct Number {
  enum class Kind : std::uint8_t { kStride, kOffset, kSize, kReciprocal, kColumns };
  Kind kind;
  std::int64_t value;
  friend bool operator==(const Number&, const Number&) = default;
};

struct LoopNest {
  bool flat = true;
  std::vector<std::int64_t> rows;     ///< sizes; empty if flat
  std::vector<std::int64_t> columns;  ///< sizes, outermost first
  std::vector<Value> values;          ///< operands before users
  std::vector<Output> outputs;
  std::vector<Loop> loops;
  std::vector<DType> stages;  ///< staging rows
  /// Scalars that code reads as operands after the group's own: groups that differ only in the
  /// streams of their random numbers, such as those of the layers of a model, have equal code.
  std::vector<std::uint64_t> streams;
  std::vector<Number> numbers;  ///< instead of constants of the code; see row_numbers.h

  std::int64_t row_count() const;
  std::int64_t column_count() const;
  /// Whether the function works for every number of elements.
  bool is_any_size() const;
  /// Whether the function works for every number of columns: rows are so long and simple that a
  /// constant number would not improve the code.
  bool is_any_width() const;
  bool has_reductions() const;
  /// Whether the order of elements in memory is that of the nest's loops.
  bool is_in_order(const View& view) const;
  /// Whether result k may use the memory of operand i: each element of the operand is read, if at
  /// all, only before or while the result's element at the same place is written.
  bool may_alias(std::size_t result, std::size_t operand) const;
  /// Bytes of staging memory of one task.
  std::size_t stage_bytes() const;
  /// Whether loop p finds the value in its staging row.
  bool is_staged_before(int value, int p) const;
  /// Where a staging row starts.
  std::size_t stage_offset(int stage) const;
  /// Everything that the generated code depends on: equal texts have equal code.
  std::string to_string() const;
};

/// The loops of a group's body over the domain `shape`, whose first `axis` dimensions are rows.
/// Sums over everything at axis 0 become totals of a nest that tasks can divide.
LoopNest make_loop_nest(const Graph& body, const Shape& shape, int axis);

}  // namespace lockstep::codegen
