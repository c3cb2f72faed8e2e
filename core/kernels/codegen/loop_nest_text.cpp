#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/kernels/codegen/loop_nest.h"
#include "core/kernels/codegen/row_numbers.h"

namespace lockstep::codegen {
namespace {

/// The row's part as code computes it, then the columns' strides.
std::string text_of(const LoopNest& nest, const View& view) {
  std::string rows;
  if (view.offset != 0) rows = fmt::format("#{}", offset_number(nest, view));
  for (const RowTerm& term : row_terms(nest, view)) {
    rows += fmt::format("{}row", rows.empty() ? "" : "+");
    if (term.dimension != RowTerm::kWholeRow) {
      const RowCoordinate at = row_coordinate(nest, term.dimension);
      rows += fmt::format("/#{}%#{},#{}", at.inner_reciprocal, at.size, at.size_reciprocal);
    }
    rows += fmt::format("*#{}", term.stride);
  }
  return fmt::format("[{};{}]", rows, fmt::join(view.columns, ","));
}

std::string text_of(const LoopNest& nest, const Value& value) {
  const std::string_view dtype = name_of(value.dtype);
  const std::string stage = value.stage >= 0 ? fmt::format(" stage {}", value.stage) : "";
  switch (value.kind) {
    case Value::Kind::kLoad:
      return fmt::format("{} load {}{}{}", dtype, value.operand, text_of(nest, value.view), stage);
    case Value::Kind::kConstant: return fmt::format("{} constant {:x}", dtype, value.constant);
    case Value::Kind::kIota:
      return fmt::format("{} iota{}{}", dtype, text_of(nest, value.view), stage);
    case Value::Kind::kRandom:
      return fmt::format("random {}({}){}{}", text_of(nest, value.view),
                         fmt::join(value.operands, ","), starts_blocks(value.view) ? " blocks" : "",
                         stage);
    case Value::Kind::kOp:
    case Value::Kind::kReduce:
      return fmt::format("{} {}({}){}", dtype, name_of(value.op), fmt::join(value.operands, ","),
                         stage);
  }
  __builtin_unreachable();
}

std::string_view name_of(Output::Role role) {
  switch (role) {
    case Output::Role::kFull: return "full";
    case Output::Role::kRow: return "row";
    case Output::Role::kColumn: return "column";
    case Output::Role::kTotal: return "total";
  }
  __builtin_unreachable();
}

}  // namespace

std::string LoopNest::to_string() const {
  std::string out = flat ? "flat" : "rows";
  if (is_any_width())
    out += fmt::format(" columns #{}", column_number(*this));
  else if (!is_any_size())
    out += fmt::format(" columns {}", fmt::join(columns, "x"));
  out += '\n';
  for (std::size_t v = 0; v < values.size(); ++v)
    out += fmt::format("%{} = {}\n", v, text_of(*this, values[v]));
  for (const Output& o : outputs)
    out +=
        fmt::format("{}: {} {} %{} {}{}\n", o.result, name_of(o.role), lockstep::name_of(o.dtype),
                    o.value, text_of(*this, o.view), o.over_columns ? " whole" : "");
  return out;
}

}  // namespace lockstep::codegen
