#include "core/kernels/codegen/row_numbers.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/error.h"

namespace lockstep::codegen {
namespace {

using NumberKind = Number::Kind;
/// From a number to its index.
using Numbering = std::function<int(NumberKind, std::int64_t)>;

Numbering numbers_of(const LoopNest& nest) {
  return [&nest](NumberKind kind, std::int64_t value) {
    const auto found = std::find(nest.numbers.begin(), nest.numbers.end(), Number{kind, value});
    LS_CHECK(found != nest.numbers.end(), "the code of a nest is not given the number {}", value);
    return static_cast<int>(found - nest.numbers.begin());
  };
}

std::vector<RowTerm> make_terms(const LoopNest& nest, const View& view, const Numbering& number) {
  const auto& strides = view.rows;
  const auto moves = [](std::int64_t stride) { return stride != 0; };
  if (std::none_of(strides.begin(), strides.end(), moves)) return {};
  if (is_dense(strides, nest.rows, strides.back()))
    return {{RowTerm::kWholeRow, number(NumberKind::kStride, strides.back())}};
  std::vector<RowTerm> out;
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (moves(strides[d]))
      out.push_back({static_cast<int>(d), number(NumberKind::kStride, strides[d])});
  return out;
}

RowCoordinate make_coordinate(const LoopNest& nest, int dimension, const Numbering& number) {
  RowCoordinate out;
  const auto next = nest.rows.begin() + dimension + 1;
  const std::int64_t inner =
      std::accumulate(next, nest.rows.end(), std::int64_t{1}, std::multiplies<>());
  if (inner != 1) out.inner_reciprocal = number(NumberKind::kReciprocal, reciprocal(inner));
  if (dimension == 0) return out;
  const std::int64_t size = nest.rows[static_cast<std::size_t>(dimension)];
  out.size = number(NumberKind::kSize, size);
  out.size_reciprocal = number(NumberKind::kReciprocal, reciprocal(size));
  return out;
}

}  // namespace

bool is_dense(const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& sizes,
              std::int64_t step) {
  for (std::size_t d = strides.size(); d-- > 0; step *= sizes[d])
    if (strides[d] != step) return false;
  return true;
}

std::int64_t reciprocal(std::int64_t divisor) {
  if (divisor == 0) return 0;  // there are no rows
  return static_cast<std::int64_t>(UINT64_MAX / static_cast<std::uint64_t>(divisor) + 1);
}

std::vector<Number> collect_numbers(const LoopNest& nest) {
  std::vector<Number> out;
  const Numbering number = [&out](NumberKind kind, std::int64_t value) {
    const Number wanted{kind, value};
    const auto found = std::find(out.begin(), out.end(), wanted);
    if (found != out.end()) return static_cast<int>(found - out.begin());
    out.push_back(wanted);
    return static_cast<int>(out.size()) - 1;
  };
  const auto read = [&](const View& view) {
    if (view.offset != 0) number(NumberKind::kOffset, view.offset);
    for (const RowTerm& term : make_terms(nest, view, number))
      if (term.dimension != RowTerm::kWholeRow) make_coordinate(nest, term.dimension, number);
  };
  for (const Value& value : nest.values) read(value.view);
  for (const Output& output : nest.outputs) read(output.view);
  if (nest.is_any_width()) number(NumberKind::kColumns, nest.column_count());
  LS_CHECK(out.empty() || nest.row_count() <= UINT32_MAX, "a group of {} rows", nest.row_count());
  return out;
}

int offset_number(const LoopNest& nest, const View& view) {
  return numbers_of(nest)(NumberKind::kOffset, view.offset);
}

std::vector<RowTerm> row_terms(const LoopNest& nest, const View& view) {
  return make_terms(nest, view, numbers_of(nest));
}

RowCoordinate row_coordinate(const LoopNest& nest, int dimension) {
  return make_coordinate(nest, dimension, numbers_of(nest));
}

bool starts_blocks(const View& view) {
  return std::all_of(view.rows.begin(), view.rows.end(),
                     [](std::int64_t stride) { return stride % 4 == 0; });
}

int column_number(const LoopNest& nest) {
  return nest.is_any_width() ? numbers_of(nest)(NumberKind::kColumns, nest.column_count()) : -1;
}

}  // namespace lockstep::codegen
