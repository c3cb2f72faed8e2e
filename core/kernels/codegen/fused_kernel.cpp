#include "core/kernels/codegen/fused_kernel.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/error.h"
#include "core/base/stream_copy.h"
#include "core/kernels/base/grid.h"
#include "core/kernels/base/task_kernel.h"
#include "core/kernels/codegen/code_cache.h"
#include "core/kernels/codegen/partial_sums.h"

namespace lockstep::codegen {
namespace {

using Role = Output::Role;

/// Elements that are summed into one partial result of a flat nest's total.
constexpr std::int64_t kTotalBlock = 16384;
/// Rows that are added in order before their sum is added to the task's.
constexpr std::int64_t kColumnBlock = 64;
/// Maximum of tasks that each have their own sums of columns, if these are short. Many, so that a
/// task's operands may still be in the cache of the thread that wrote them.
constexpr std::int64_t kMaxSumTasks = 64;
constexpr std::int64_t kMaxSumColumns = 2048;
/// Staging rows up to this size live on the stack, where consecutive kernels find them in the
/// cache.
constexpr std::size_t kStackStages = std::size_t{48} << 10;

/// Constants of at least this many bytes are written past the caches.
constexpr std::size_t kStreamedFill = std::size_t{16} << 20;

/// The element that fills the only result of the nest, repeated, if the nest does nothing else and
/// the result is large.
std::optional<std::uint64_t> streamed_fill(const LoopNest& nest) {
  if (!nest.flat || nest.outputs.size() != 1 || nest.outputs[0].role != Role::kFull)
    return std::nullopt;
  const Value& value = nest.values[static_cast<std::size_t>(nest.outputs[0].value)];
  const std::size_t size = size_of(value.dtype);
  const auto bytes = static_cast<std::size_t>(nest.column_count()) * size;
  if (value.kind != Value::Kind::kConstant || bytes < kStreamedFill) return std::nullopt;
  std::uint64_t out = value.constant;
  for (std::size_t width = size; width < sizeof(out); width *= 2) out |= out << (8 * width);
  return out;
}

DType partial_dtype(DType dtype) {
  return is_float(dtype) ? DType::kF32 : dtype;
}

std::size_t round_up(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Scratch memory: for every task its staging rows and, for each column sum, the task's sum and
/// that of the current block; then the partial results of each total.
class GroupKernel final : public TaskKernel {
 public:
  explicit GroupKernel(LoopNest nest) : nest_(std::move(nest)), fill_(streamed_fill(nest_)) {
    for (const Number& number : nest_.numbers) numbers_.push_back(number.value);
    for (const Output& output : nest_.outputs) {
      has_columns_ = has_columns_ || output.role == Role::kColumn;
      has_totals_ = has_totals_ || output.role == Role::kTotal;
    }
    if (nest_.flat) {
      grid_ = make_grid(nest_.column_count(), has_totals_ ? kTotalBlock : kTaskElements, kLanes);
    } else {
      const std::int64_t columns = std::max<std::int64_t>(nest_.column_count(), 1);
      const bool is_staged = nest_.stage_bytes() > kStackStages;
      const std::int64_t max_tasks = is_staged || (has_columns_ && columns > kMaxSumColumns)
                                         ? kMaxScratchTasks
                                     : has_columns_ ? kMaxSumTasks
                                                    : INT64_MAX;
      grid_ = make_grid(nest_.row_count(), kTaskElements / columns, 1, max_tasks);
    }
    if (nest_.stage_bytes() > kStackStages) task_bytes_ = nest_.stage_bytes();
    offsets_.resize(nest_.outputs.size());
    for (std::size_t k = 0; k < offsets_.size(); ++k) {
      if (nest_.outputs[k].role != Role::kColumn) continue;
      offsets_[k] = task_bytes_;
      task_bytes_ += 2 * column_bytes(k);
    }
    bytes_ = task_bytes_ * static_cast<std::size_t>(grid_.tasks());
    for (std::size_t k = 0; k < offsets_.size(); ++k) {
      if (nest_.outputs[k].role != Role::kTotal) continue;
      offsets_[k] = bytes_;
      bytes_ += round_up(static_cast<std::size_t>(total_parts()) * partial_bytes(k));
    }
  }

  std::size_t scratch_bytes() const override { return bytes_; }
  WorkClass work() const override {
    return nest_.has_reductions() ? WorkClass::kFusedReduce : WorkClass::kFused;
  }
  bool may_alias(std::size_t result, std::size_t operand) const override {
    return nest_.may_alias(result, operand);
  }
  void generate(const KernelContext& context) override {
    code_ = context.codes.get(nest_, context.object_code, context.log);
  }
  std::string_view object_code() const override { return code_->bytes(); }

  Extent reads(std::int64_t task, std::size_t operand) const override;
  Extent writes(std::int64_t task, std::size_t result) const override;
  bool finishes(std::size_t result) const override;

  std::int64_t tasks() const override { return grid_.tasks(); }
  void run_task(const KernelCall& call, std::int64_t task) const override;
  void finish(const KernelCall& call) const override {
    for (std::size_t k = 0; k < nest_.outputs.size(); ++k) {
      const Output& output = nest_.outputs[k];
      if (output.role == Role::kColumn) finish_columns(call, k);
      if (output.role == Role::kTotal)
        sum_total(output.dtype, call.scratch + offsets_[k], total_parts(),
                  call.results[static_cast<std::size_t>(output.result)]);
    }
  }

 private:
  std::size_t partial_bytes(std::size_t k) const {
    return size_of(partial_dtype(nest_.outputs[k].dtype));
  }
  /// One row of sums, padded to whole vectors.
  std::size_t column_bytes(std::size_t k) const {
    const std::int64_t padded = (nest_.column_count() + kLanes - 1) / kLanes * kLanes;
    return round_up(static_cast<std::size_t>(padded) * partial_bytes(k));
  }
  std::int64_t total_parts() const { return nest_.flat ? grid_.tasks() : nest_.row_count(); }

  Extent extent(std::int64_t task, std::size_t element_bytes) const;

  /// The call's operands and the streams.
  std::vector<const std::byte*> with_streams(const KernelCall& call) const;
  /// A task of a nest with column sums or totals; `own` is the task's part of the scratch memory.
  void sum_task(const KernelCall& call, const std::byte* const* operands, std::byte* own,
                std::byte* stages, std::int64_t task) const;
  void finish_columns(const KernelCall& call, std::size_t k) const;

  LoopNest nest_;
  std::optional<std::uint64_t> fill_;
  std::vector<std::int64_t> numbers_;      ///< values of the nest's
  std::shared_ptr<const GroupCode> code_;  ///< null until it is generated
  Grid grid_{0, 1};
  bool has_columns_ = false;
  bool has_totals_ = false;
  std::size_t task_bytes_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> offsets_;  ///< by output: in a task's memory (columns), in all (totals)
};

std::vector<const std::byte*> GroupKernel::with_streams(const KernelCall& call) const {
  std::vector<const std::byte*> out(call.operands.begin(), call.operands.end());
  for (const std::uint64_t& stream : nest_.streams)
    out.push_back(reinterpret_cast<const std::byte*>(&stream));
  return out;
}

/// The extent of an array whose elements are in the order of the nest: row after row, or in a flat
/// nest element after element.
Extent GroupKernel::extent(std::int64_t task, std::size_t element_bytes) const {
  const std::int64_t unit =
      (nest_.flat ? 1 : nest_.column_count()) * static_cast<std::int64_t>(element_bytes);
  return {grid_.begin(task) * unit, grid_.end(task) * unit};
}

Extent GroupKernel::reads(std::int64_t task, std::size_t operand) const {
  if (grid_.tasks() == 1) return {};
  std::size_t bytes = 0;
  for (const Value& value : nest_.values) {
    if (value.kind != Value::Kind::kLoad || value.operand != static_cast<int>(operand)) continue;
    if (!nest_.is_in_order(value.view)) return {};
    bytes = size_of(value.dtype);
  }
  return bytes == 0 ? Extent{} : extent(task, bytes);
}

Extent GroupKernel::writes(std::int64_t task, std::size_t result) const {
  if (grid_.tasks() == 1) return {};
  std::size_t bytes = 0;
  for (const Output& output : nest_.outputs) {
    if (output.result != static_cast<int>(result)) continue;
    if (output.role != Role::kFull || !nest_.is_in_order(output.view)) return {};
    bytes = size_of(output.dtype);
  }
  return extent(task, bytes);
}

bool GroupKernel::finishes(std::size_t result) const {
  return std::ranges::any_of(nest_.outputs, [&](const Output& output) {
    return output.result == static_cast<int>(result) &&
           (output.role == Role::kColumn || output.role == Role::kTotal);
  });
}

void GroupKernel::run_task(const KernelCall& call, std::int64_t task) const {
  if (fill_) {
    const std::size_t size = size_of(nest_.outputs[0].dtype);
    const auto begin = static_cast<std::size_t>(grid_.begin(task)) * size;
    const auto end = static_cast<std::size_t>(grid_.end(task)) * size;
    stream_fill(call.results[0] + begin, *fill_, end - begin);
    return;
  }
  std::vector<const std::byte*> streamed;
  if (!nest_.streams.empty()) streamed = with_streams(call);
  const std::byte* const* operands = streamed.empty() ? call.operands.data() : streamed.data();
  alignas(64) std::byte on_stack[kStackStages];
  std::byte* const own = call.scratch + task_bytes_ * static_cast<std::size_t>(task);
  std::byte* const stages = nest_.stage_bytes() > kStackStages ? own : on_stack;
  if (has_columns_ || has_totals_) {
    sum_task(call, operands, own, stages, task);
  } else {
    code_->function()(operands, call.results.data(), stages, grid_.begin(task), grid_.end(task),
                      task, numbers_.data());
  }
}

void GroupKernel::sum_task(const KernelCall& call, const std::byte* const* operands, std::byte* own,
                           std::byte* stages, std::int64_t task) const {
  std::vector<std::byte*> results(call.results.begin(), call.results.end());
  const auto result = [&](std::size_t k) -> std::byte*& {
    return results[static_cast<std::size_t>(nest_.outputs[k].result)];
  };
  for (std::size_t k = 0; k < nest_.outputs.size(); ++k) {
    const Output& output = nest_.outputs[k];
    if (output.role == Role::kTotal) result(k) = call.scratch + offsets_[k];
    if (output.role != Role::kColumn) continue;
    std::fill_n(own + offsets_[k], column_bytes(k), std::byte{});  // of none, perhaps
    result(k) = own + offsets_[k] + column_bytes(k);
  }
  const std::int64_t end = grid_.end(task);
  const std::int64_t step = has_columns_ ? kColumnBlock : end;
  for (std::int64_t begin = grid_.begin(task); begin < end; begin += step) {
    for (std::size_t k = 0; k < nest_.outputs.size(); ++k)
      if (nest_.outputs[k].role == Role::kColumn)
        std::fill_n(result(k), column_bytes(k), std::byte{});
    code_->function()(operands, results.data(), stages, begin, std::min(end, begin + step), task,
                      numbers_.data());
    for (std::size_t k = 0; k < nest_.outputs.size(); ++k)
      if (nest_.outputs[k].role == Role::kColumn)
        add_partials(nest_.outputs[k].dtype, result(k), nest_.column_count(), own + offsets_[k]);
  }
}

void GroupKernel::finish_columns(const KernelCall& call, std::size_t k) const {
  const DType dtype = nest_.outputs[k].dtype;
  const Grid columns = make_grid(nest_.column_count(), kTaskElements / kMaxScratchTasks);
  call.pool.parallel_for(columns.tasks(), [&](std::int64_t range) {
    const std::int64_t first = columns.begin(range);
    const std::int64_t count = columns.end(range) - first;
    const auto part = [&](std::int64_t task) {
      return call.scratch + task_bytes_ * static_cast<std::size_t>(task) + offsets_[k] +
             static_cast<std::size_t>(first) * partial_bytes(k);
    };
    std::byte* out = call.results[static_cast<std::size_t>(nest_.outputs[k].result)] +
                     static_cast<std::size_t>(first) * size_of(dtype);
    const std::int64_t tasks = grid_.tasks();
    if (tasks == 0) {
      std::memset(out, 0, static_cast<std::size_t>(count) * size_of(dtype));
      return;
    }
    for (std::int64_t distance = 1; distance < tasks; distance *= 2)
      for (std::int64_t task = 0; task + distance < tasks; task += 2 * distance)
        add_partials(dtype, part(task + distance), count, part(task));
    store_partials(dtype, part(0), count, out);
  });
}

/// A node as a group of one, with its domain and axis.
struct Single {
  std::shared_ptr<Graph> body = std::make_shared<Graph>();
  Shape domain;
  int axis = 0;
};

/// The axis of a reduction as a group of one; nothing if its dimensions lie in the middle.
std::optional<int> reduction_axis(const Node& node, const Shape& operand) {
  const int rank = operand.rank();
  Attrs::Ints dims = node.attrs.has(Attr::kDims) ? node.attrs.copy_ints(Attr::kDims)
                                                 : Attrs::Ints{node.attrs.integer(Attr::kAxis)};
  std::sort(dims.begin(), dims.end());
  const auto count = static_cast<int>(dims.size());
  for (int d = 1; d < count; ++d)
    if (dims[static_cast<std::size_t>(d)] != dims[static_cast<std::size_t>(d - 1)] + 1)
      return std::nullopt;
  if (count == 0) return rank;
  if (dims.back() == rank - 1) return static_cast<int>(dims.front());
  if (dims.front() == 0 && node.op == Op::kReduceSum) return count;
  return std::nullopt;
}

Single single_group(const Node& node, std::span<const Type> operands) {
  Single out;
  Node copy = node;
  copy.operands.clear();
  for (const Type& type : operands)
    copy.operands.push_back(out.body->add_input(type, InputKind::kState, ""));
  out.body->outputs.push_back(out.body->append(std::move(copy)));
  const bool reduces = info_of(node.op).op_class == OpClass::kReduction;
  out.domain = reduces ? operands[0].shape : node.type.shape;
  out.axis = reduces ? reduction_axis(node, out.domain).value_or(0) : out.domain.rank();
  return out;
}

LoopNest nest_of(const Node& node, std::span<const Type> operands) {
  if (node.op != Op::kFusion) {
    const Single single = single_group(node, operands);
    return make_loop_nest(*single.body, single.domain, single.axis);
  }
  return make_loop_nest(*node.body, Shape(node.attrs.ints(Attr::kShape)),
                        static_cast<int>(node.attrs.integer(Attr::kAxis)));
}

}  // namespace

std::unique_ptr<Kernel> plan_group_kernel(const Node& node, std::span<const Type> operands) {
  return std::make_unique<GroupKernel>(nest_of(node, operands));
}

bool is_group(const Node& node, std::span<const Type> operands) {
  if (node.type.dtype == DType::kF64) return false;
  for (const Type& type : operands)
    if (type.dtype == DType::kF64) return false;
  if (info_of(node.op).op_class == OpClass::kReduction)
    return reduction_axis(node, operands[0].shape).has_value();
  return is_elementwise(node.op) || node.op == Op::kFusion || node.op == Op::kBroadcast ||
         node.op == Op::kIota || node.op == Op::kRandomBits;
}

}  // namespace lockstep::codegen
