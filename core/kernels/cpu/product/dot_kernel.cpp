#include "core/kernels/cpu/product/dot_kernel.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lockstep::product {
namespace {

std::int64_t bytes_of(DType dtype) {
  return static_cast<std::int64_t>(size_of(dtype));
}

std::size_t copy_bytes(const DotOperand& operand) {
  return operand.copied ? static_cast<std::size_t>(operand.elements) * size_of(operand.stored) : 0;
}

}  // namespace

DotKernel::DotKernel(Problem problem, StrategyPtr strategy)
    : problem_(std::move(problem)), strategy_(std::move(strategy)), parts_(strategy_->parts(1)) {
  lay_out_scratch();
}

std::size_t DotKernel::part_bytes(const Parts& parts) const {
  return scratch_aligned(strategy_->scratch_bytes(parts.largest()));
}

void DotKernel::lay_out_scratch() {
  std::size_t offset = 0;
  const auto take = [&](std::size_t bytes) {
    const std::size_t at = offset;
    offset += scratch_aligned(bytes);
    return at;
  };
  part_bytes_ = part_bytes(parts_);
  const bool by_threads = strategy_->divides_by_threads();
  if (!by_threads && part_bytes_ > 0) take(ScratchSlots::kHeadBytes);
  a_offset_ = take(copy_bytes(problem_.a));
  b_offset_ = take(copy_bytes(problem_.b));
  prepared_offset_ = take(strategy_->prepared_bytes());
  std::size_t bytes = 0;  // of all parts
  const int max_threads = by_threads ? static_cast<int>(kMaxScratchTasks) : 1;
  for (int threads = 1; threads <= max_threads; ++threads) {
    const Parts parts = strategy_->parts(threads);
    bytes = std::max(bytes, part_bytes(parts) * static_cast<std::size_t>(parts.tasks()));
  }
  parts_offset_ = take(bytes);
  scratch_bytes_ = offset;
}

Memory DotKernel::memory(const KernelCall& call) const {
  return {problem_.a.copied ? call.scratch + a_offset_ : call.operands[0],
          problem_.b.copied ? call.scratch + b_offset_ : call.operands[1], call.results[0]};
}

void DotKernel::prepare(const KernelCall& call) const {
  copy_in_order(problem_.a, call.operands[0], call.scratch + a_offset_, call.pool);
  copy_in_order(problem_.b, call.operands[1], call.scratch + b_offset_, call.pool);
  if (strategy_->prepared_bytes() > 0)
    strategy_->prepare(memory(call), call.scratch + prepared_offset_, call.scratch + parts_offset_);
}

void DotKernel::run_part(const Part& part, const KernelCall& call, ScratchSlots* slots) const {
  std::optional<ScratchSlots::Slot> slot;
  if (slots != nullptr) slot.emplace(*slots);
  strategy_->run(part, problem_.at(memory(call), part.batch, part.row, part.column),
                 call.scratch + prepared_offset_, slot ? slot->memory() : nullptr);
}

void DotKernel::run(const KernelCall& call) const {
  if (!strategy_->divides_by_threads()) return TaskKernel::run(call);
  prepare(call);
  const Parts parts = strategy_->parts(call.pool.threads());
  const std::size_t bytes = part_bytes(parts);
  ScratchSlots slots(call.scratch + parts_offset_, bytes);
  call.pool.parallel_for(parts.tasks(), [&](std::int64_t task) {
    run_part(parts.part(task), call, bytes > 0 ? &slots : nullptr);
  });
}

void DotKernel::begin(const KernelCall& call) const {
  if (part_bytes_ > 0) ScratchSlots::begin(call.scratch, call.scratch + parts_offset_, part_bytes_);
  prepare(call);
}

void DotKernel::run_task(const KernelCall& call, std::int64_t task) const {
  run_part(parts_.part(task), call, part_bytes_ > 0 ? &ScratchSlots::in(call.scratch) : nullptr);
}

bool DotKernel::begins_with(std::size_t operand) const {
  return operand == 0 ? problem_.a.copied : problem_.b.copied || strategy_->prepared_bytes() > 0;
}

Extent DotKernel::rows_of(std::int64_t task, std::int64_t row_bytes) const {
  if (parts_.rows.tasks() == 1) return {};
  return {parts_.rows.begin(task) * row_bytes, parts_.rows.end(task) * row_bytes};
}

Extent DotKernel::reads(std::int64_t task, std::size_t operand) const {
  const DotOperand& a = problem_.a;
  const bool in_rows = operand == 0 && problem_.batch == 1 && !a.copied && a.strides.column == 1 &&
                       a.strides.row == problem_.k;
  return in_rows ? rows_of(task, problem_.k * bytes_of(a.stored)) : Extent{};
}

Extent DotKernel::writes(std::int64_t task, std::size_t /*result*/) const {
  const bool in_rows = problem_.batch == 1 && parts_.columns.tasks() == 1;
  return in_rows ? rows_of(task, problem_.n * bytes_of(problem_.result)) : Extent{};
}

}  // namespace lockstep::product
