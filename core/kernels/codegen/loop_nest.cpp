#include "core/kernels/codegen/loop_nest.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "core/kernels/codegen/group_values.h"
#include "core/kernels/codegen/row_numbers.h"

namespace lockstep::codegen {
namespace {

using Strides = std::vector<std::int64_t>;

/// Calls f with every view's strides.
void for_each_view(GroupValues& group, const std::function<void(Strides&)>& f) {
  for (Value& value : group.values)
    if (!value.view.columns.empty()) f(value.view.columns);
  for (Output& output : group.outputs)
    if (!output.view.columns.empty()) f(output.view.columns);
}

/// Drops dimensions of size 1 and merges neighbours where every view allows it, except the
/// dimensions on both sides of `fence`. Returns the number of dimensions left before the fence.
std::size_t collapse(GroupValues& group, std::vector<std::int64_t>& sizes, std::size_t fence) {
  const auto erase = [&](std::size_t d) {
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(d));
    for_each_view(group, [&](Strides& strides) {
      strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(d));
    });
    if (d < fence) --fence;
  };
  for (std::size_t d = sizes.size(); d-- > 0;)
    if (sizes[d] == 1) erase(d);
  for (std::size_t d = sizes.size(); d-- > 1;) {
    if (d == fence) continue;
    bool merges = true;
    for_each_view(group, [&](Strides& strides) {
      merges = merges && strides[d - 1] == sizes[d] * strides[d];
    });
    if (!merges) continue;
    sizes[d] *= sizes[d - 1];
    // The inner stride serves both.
    erase(d - 1);
  }
  return fence;
}

/// The number of dimensions of a free domain that become rows: as many as leave rows of at least a
/// vector.
std::size_t choose_rows(const std::vector<std::int64_t>& sizes) {
  std::int64_t columns = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    columns *= sizes[d];
    if (columns >= kLanes) return d;
  }
  return 0;
}

/// Whether vectors of the last dimensions, from `rows` on, are stored to neighbouring places.
bool stores_densely(const GroupValues& group, const std::vector<std::int64_t>& sizes,
                    std::size_t rows) {
  const auto inner = [&](const Strides& of) {
    return Strides(of.begin() + static_cast<std::ptrdiff_t>(rows), of.end());
  };
  return std::ranges::all_of(group.outputs, [&](const Output& output) {
    return output.role != Output::Role::kFull ||
           is_dense(inner(output.view.columns), inner(sizes), 1);
  });
}

/// Gives a domain of one element a dimension, so that its code is that of any number of elements.
void add_unit_dimension(GroupValues& group, std::vector<std::int64_t>& sizes) {
  sizes.push_back(1);
  for (Value& value : group.values)
    if (value.kind == Value::Kind::kLoad) value.view.columns = {1};
  for (Value& value : group.values) {
    if (value.kind == Value::Kind::kIota) value.view.columns = {0};
    if (value.kind != Value::Kind::kRandom) continue;
    value.view.columns = {0};
    for (const int key : value.operands)
      group.values[static_cast<std::size_t>(key)].view.columns = {0};
  }
  for (Output& output : group.outputs) output.view.columns = {1};
}

void divide(View& view, std::size_t rows) {
  view.rows.assign(
      view.columns.begin(),
      view.columns.begin() + static_cast<std::ptrdiff_t>(std::min(rows, view.columns.size())));
  view.columns.erase(view.columns.begin(),
                     view.columns.begin() + static_cast<std::ptrdiff_t>(view.rows.size()));
}

void set_levels(LoopNest& nest) {
  for (Value& value : nest.values) {
    if (value.kind == Value::Kind::kReduce) {
      value.level = Level::kRow;
      value.phase = nest.values[static_cast<std::size_t>(value.operands[0])].phase + 1;
      continue;
    }
    if (!is_zero(value.view.columns)) {
      value.level = Level::kFull;
    } else if (!is_zero(value.view.rows)) {
      value.level = Level::kRow;
    }
    for (const int operand : value.operands) {
      const Value& from = nest.values[static_cast<std::size_t>(operand)];
      value.level = std::max(value.level, from.level);
      value.phase = std::max(value.phase, from.phase);
    }
  }
}

/// Decides what each loop computes.
class Phases {
 public:
  explicit Phases(LoopNest& nest) : nest_(nest) {}

  void run() {
    assign_targets();
    for (std::size_t p = 0; p < nest_.loops.size(); ++p) fill(static_cast<int>(p));
    for (Loop& loop : nest_.loops) weigh(loop);
  }

 private:
  /// An element of at least this many flops is kept rather than computed again.
  static constexpr double kCheap = 8;
  /// Flops that rounding to 16 bits takes.
  static constexpr double kRounding = 3;

  const Value& value(int v) const { return nest_.values[static_cast<std::size_t>(v)]; }
  Loop& loop(int p) {
    if (nest_.loops.size() <= static_cast<std::size_t>(p))
      nest_.loops.resize(static_cast<std::size_t>(p) + 1);
    return nest_.loops[static_cast<std::size_t>(p)];
  }
  void assign_targets();
  void fill(int p);
  void visit(int v, int p, std::set<int>& wanted);
  int first_loop_with(int v, int before) const;
  double cost(int v) const;
  void weigh(Loop& loop) const;

  LoopNest& nest_;
};

void Phases::assign_targets() {
  for (std::size_t v = 0; v < nest_.values.size(); ++v)
    if (nest_.values[v].kind == Value::Kind::kReduce)
      loop(nest_.values[v].phase - 1).reductions.push_back(static_cast<int>(v));
  for (std::size_t k = 0; k < nest_.outputs.size(); ++k) {
    const Output& output = nest_.outputs[k];
    const bool in_loop = output.role == Output::Role::kFull ||
                         output.role == Output::Role::kColumn || output.over_columns;
    if (in_loop) loop(value(output.value).phase).stores.push_back(static_cast<int>(k));
  }
}

void Phases::fill(int p) {
  std::set<int> wanted;
  for (const int v : loop(p).reductions) visit(value(v).operands[0], p, wanted);
  for (const int k : loop(p).stores)
    visit(nest_.outputs[static_cast<std::size_t>(k)].value, p, wanted);
  loop(p).values.assign(wanted.begin(), wanted.end());
}

void Phases::visit(int v, int p, std::set<int>& wanted) {
  if (value(v).level != Level::kFull || !wanted.insert(v).second) return;
  if (value(v).phase < p && value(v).kind != Value::Kind::kLoad) {
    const int from = first_loop_with(v, p);
    if (from >= 0 && (value(v).stage >= 0 || cost(v) >= kCheap)) {
      Value& kept = nest_.values[static_cast<std::size_t>(v)];
      if (kept.stage < 0) {
        kept.stage = static_cast<int>(nest_.stages.size());
        nest_.stages.push_back(kept.dtype);
        loop(from).stages.push_back(v);
      }
      return;
    }
  }
  for (const int operand : value(v).operands) visit(operand, p, wanted);
}

int Phases::first_loop_with(int v, int before) const {
  for (int p = 0; p < before; ++p) {
    const auto& values = nest_.loops[static_cast<std::size_t>(p)].values;
    if (std::binary_search(values.begin(), values.end(), v)) return p;
  }
  return -1;
}

double Phases::cost(int v) const {
  double sum = 0;
  std::set<int> seen;
  const std::function<void(int)> add = [&](int at) {
    if (value(at).level != Level::kFull || !seen.insert(at).second) return;
    const bool computed = value(at).stage < 0 && value(at).kind == Value::Kind::kOp;
    const bool drawn = value(at).stage < 0 && value(at).kind == Value::Kind::kRandom;
    sum += computed ? info_of(value(at).op).flops_per_element
           : drawn  ? info_of(Op::kRandomBits).flops_per_element
                    : 1;
    if (computed && size_of(value(at).dtype) == 2) sum += kRounding;
    if (value(at).stage >= 0) return;
    for (const int operand : value(at).operands) add(operand);
  };
  add(v);
  return sum;
}

void Phases::weigh(Loop& loop) const {
  for (const int v : loop.values) {
    const bool computed =
        value(v).kind == Value::Kind::kOp || value(v).kind == Value::Kind::kRandom;
    loop.weight += computed ? std::max(1.0, info_of(value(v).op).flops_per_element) : 1;
    const std::size_t bytes = size_of(value(v).dtype);
    if (bytes == 2 || bytes == 8) loop.weight += 2;  // rounding, two registers
  }
  loop.weight += static_cast<double>(loop.stores.size() + loop.stages.size());
  loop.weight += static_cast<double>(loop.reductions.size());
}

}  // namespace

LoopNest make_loop_nest(const Graph& body, const Shape& shape, int axis) {
  GroupValues group = read_group(body, shape, axis);
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  const auto fence = group.is_free ? sizes.size() : static_cast<std::size_t>(group.axis);
  std::size_t rows = collapse(group, sizes, fence);
  LoopNest nest;
  nest.flat = false;
  if (group.is_free) {
    if (sizes.empty()) add_unit_dimension(group, sizes);
    rows = choose_rows(sizes);
    while (!stores_densely(group, sizes, rows)) ++rows;
    nest.flat = rows == 0;
  }
  nest.rows.assign(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rows));
  nest.columns.assign(sizes.begin() + static_cast<std::ptrdiff_t>(rows), sizes.end());
  for (Value& value : group.values) divide(value.view, rows);
  for (Output& output : group.outputs) divide(output.view, rows);
  nest.values = std::move(group.values);
  nest.outputs = std::move(group.outputs);
  nest.streams = std::move(group.streams);
  set_levels(nest);
  Phases(nest).run();
  nest.numbers = collect_numbers(nest);
  return nest;
}

std::int64_t LoopNest::row_count() const {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t LoopNest::column_count() const {
  return std::accumulate(columns.begin(), columns.end(), std::int64_t{1}, std::multiplies<>());
}

bool LoopNest::is_any_size() const {
  // Strided places are computed from the size.
  const auto gathers = [](const Value& v) {
    return v.kind == Value::Kind::kLoad && v.view.columns[0] > 1;
  };
  return flat && columns.size() == 1 && std::ranges::none_of(values, gathers);
}

bool LoopNest::is_any_width() const {
  constexpr std::int64_t kLongRow = 4096;
  if (flat || columns.size() != 1 || columns[0] < kLongRow || !stages.empty()) return false;
  const auto reduces = [](const Value& v) { return v.kind == Value::Kind::kReduce; };
  const auto sums = [](const Output& o) { return o.over_columns; };
  const auto strides = [](const auto& of) {
    return !of.view.columns.empty() && of.view.columns[0] != 0 && of.view.columns[0] != 1;
  };
  return std::none_of(values.begin(), values.end(), reduces) &&
         std::none_of(values.begin(), values.end(), strides) &&
         std::none_of(outputs.begin(), outputs.end(), sums) &&
         std::none_of(outputs.begin(), outputs.end(), strides);
}

bool LoopNest::has_reductions() const {
  return std::any_of(values.begin(), values.end(),
                     [](const Value& v) { return v.kind == Value::Kind::kReduce; }) ||
         std::any_of(outputs.begin(), outputs.end(), [](const Output& o) {
           return o.role == Output::Role::kColumn || o.role == Output::Role::kTotal;
         });
}

bool LoopNest::is_in_order(const View& view) const {
  std::int64_t stride = 1;
  const auto follows = [&](const std::vector<std::int64_t>& sizes,
                           const std::vector<std::int64_t>& strides) {
    for (std::size_t d = sizes.size(); d-- > 0; stride *= sizes[d])
      if (sizes[d] > 1 && strides[d] != stride) return false;
    return true;
  };
  return view.offset == 0 && follows(columns, view.columns) && follows(rows, view.rows);
}

bool LoopNest::may_alias(std::size_t result, std::size_t operand) const {
  std::vector<const Output*> parts;
  for (const Output& output : outputs)
    if (output.result == static_cast<int>(result)) parts.push_back(&output);
  const auto is_stored = [](const Output* part) {
    return part->role == Output::Role::kFull || part->role == Output::Role::kRow;
  };
  if (!std::ranges::all_of(parts, is_stored)) return false;
  bool reads = false;
  for (std::size_t v = 0; v < values.size(); ++v) {
    const Value& load = values[v];
    if (load.kind != Value::Kind::kLoad || load.operand != static_cast<int>(operand)) continue;
    reads = true;
    // All parts of a place are stored after all loads of it.
    const auto is_at = [&](const Output* part) {
      return size_of(load.dtype) == size_of(part->dtype) && load.view == part->view;
    };
    if (std::ranges::none_of(parts, is_at)) return false;
    for (const Output* part : parts) {
      if (part->role == Output::Role::kRow) continue;
      const auto stored =
          static_cast<std::size_t>(values[static_cast<std::size_t>(part->value)].phase);
      for (std::size_t p = stored + 1; p < loops.size(); ++p)
        if (std::binary_search(loops[p].values.begin(), loops[p].values.end(), static_cast<int>(v)))
          return false;
    }
  }
  return reads;
}

bool LoopNest::is_staged_before(int value, int p) const {
  return std::any_of(loops.begin(), loops.begin() + p, [&](const Loop& loop) {
    return std::find(loop.stages.begin(), loop.stages.end(), value) != loop.stages.end();
  });
}

std::size_t LoopNest::stage_offset(int stage) const {
  const auto padded = static_cast<std::size_t>((column_count() + kLanes - 1) / kLanes * kLanes);
  std::size_t out = 0;
  for (int s = 0; s < stage; ++s)
    out += (padded * size_of(stages[static_cast<std::size_t>(s)]) + 63) / 64 * 64;
  return out;
}

std::size_t LoopNest::stage_bytes() const {
  return stage_offset(static_cast<int>(stages.size()));
}

}  // namespace lockstep::codegen
