#include "core/explain/literals.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/explain/differences.h"
#include "core/ir/literal_text.h"

namespace lockstep {
namespace {

std::string print_number(double value, DType dtype) {
  return print_element(from_doubles(dtype, Shape{}, std::span(&value, 1)), 0);
}

}  // namespace

IntView find_attr(const GraphDescriptor& graph, ValueId id, Attr attr) {
  for (const Attrs::Entry& entry : graph.attrs(id))
    if (entry.attr == attr) return entry.values;
  return {};
}

std::int64_t reduced(const GraphDescriptor& graph, ValueId id, IntView dims) {
  std::int64_t out = 1;
  for (const std::int64_t dim : dims)
    out *= graph.sizes(graph.operands(id)[0])[static_cast<std::size_t>(dim)];
  return out;
}

ValueId constant_of(const GraphDescriptor& graph, ValueId id) {
  while (graph[id].op == Op::kBroadcast) id = graph.operands(id)[0];
  return graph[id].op == Op::kConstant ? id : kNoValue;
}

bool is_of_mean(const GraphDescriptor& graph, ValueId number) {
  const std::vector<double>& values = graph.literal(number).values;
  if (values.size() != 1) return false;
  for (ValueId id = number + 1; id < graph.size(); ++id) {
    if (graph[id].op != Op::kMultiply) continue;
    const auto operands = graph.operands(id);
    for (const std::size_t side : {0, 1}) {
      const ValueId sum = operands[1 - side];
      if (constant_of(graph, operands[side]) != number || graph[sum].op != Op::kReduceSum) continue;
      const auto n = static_cast<double>(reduced(graph, sum, find_attr(graph, sum, Attr::kDims)));
      if (std::abs(values[0] * n - 1) < 1e-6) return true;
    }
  }
  return false;
}

bool are_counts(const GraphDescriptor::Literal& before, const GraphDescriptor::Literal& now) {
  const auto is_whole = [](double value) { return std::abs(value - std::round(value)) < 1e-6; };
  const auto are = [&](auto of) {
    return std::ranges::all_of(before.values, [&](double value) { return is_whole(of(value)); }) &&
           std::ranges::all_of(now.values, [&](double value) { return is_whole(of(value)); });
  };
  return are([](double value) { return value; }) || are([](double value) { return 1 / value; });
}

bool are_equal_but_for_dtype(const GraphDescriptor::Literal& before, DType dtype_before,
                             const GraphDescriptor::Literal& now, DType dtype) {
  if (before.values.size() != now.values.size()) return false;
  if (before.values.empty()) return true;  // a table: its values are not compared
  const auto rounds_to = [](std::span<const double> from, DType to,
                            const std::vector<double>& values) {
    return to_doubles(from_doubles(to, Shape{static_cast<std::int64_t>(from.size())}, from)) ==
           values;
  };
  return rounds_to(before.values, dtype, now.values) ||
         rounds_to(now.values, dtype_before, before.values);
}

bool is_plain(double value) {
  constexpr double kDigits = 1000;
  constexpr double kSmall = 16;
  if (value == std::round(value)) return std::abs(value) < kSmall;
  return std::abs(value) < kSmall && std::abs(value * kDigits - std::round(value * kDigits)) < 1e-6;
}

std::string print_literal(const GraphDescriptor& graph, ValueId id, bool same_type) {
  const std::vector<double>& values = graph.literal(id).values;
  if (!same_type || values.empty()) return graph.type(id);
  if (graph[id].rank == 0) return print_number(values[0], graph[id].dtype);
  std::string out;
  for (const double value : values)
    out += (out.empty() ? "[" : ",") + print_number(value, graph[id].dtype);
  return out + "]";
}

void tell_elements(const GraphDescriptor::Literal& before, const GraphDescriptor::Literal& now,
                   Difference& difference) {
  difference.from.clear();
  difference.to = "has other values";
  const std::int64_t count = now.table.shape().elements();
  if (count == 0 || before.table.shape().elements() != count) return;
  const auto element = [](const HostTensor& table, std::int64_t i) {
    const auto size = static_cast<std::int64_t>(size_of(table.dtype()));
    return std::string_view(
        reinterpret_cast<const char*>(table.bytes().data()) + i * size,  // NOLINT
        static_cast<std::size_t>(size));
  };
  std::int64_t first = 0;
  std::int64_t differ = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (element(before.table, i) == element(now.table, i)) continue;
    if (differ++ == 0) first = i;
  }
  if (differ == 0) return;
  std::string index;
  std::int64_t left = first;
  const auto sizes = now.table.shape().sizes();
  for (std::size_t d = sizes.size(); d-- > 0; left /= sizes[d])
    index = fmt::format("{}{}{}", left % sizes[d], index.empty() ? "" : ",", index);
  difference.subject += fmt::format(" [{}]", index);
  difference.from = print_element(before.table, static_cast<std::size_t>(first));
  difference.to = print_element(now.table, static_cast<std::size_t>(first));
  difference.note = fmt::format("{} of {} differ", differ, count);
}

}  // namespace lockstep
