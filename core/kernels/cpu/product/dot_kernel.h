// The kernel of a dot_general: memory and threads for a strategy.
#pragma once

#include "core/kernels/base/task_kernel.h"
#include "core/kernels/cpu/base/scratch_slots.h"
#include "core/kernels/cpu/product/strategy.h"

namespace lockstep::product {

/// An operand whose dimensions do not collapse is copied into canonical order first, then parts are
/// multiplied.
class DotKernel final : public TaskKernel {
 public:
  DotKernel(Problem problem, StrategyPtr strategy);

  WorkClass work() const override { return WorkClass::kDot; }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  void generate(const KernelContext& /*context*/) override { strategy_->generate(); }
  bool joins_bundles() const override { return false; }
  const TaskKernel* as_tasks() const override {
    return strategy_->divides_by_threads() ? nullptr : this;
  }
  void run(const KernelCall& call) const override;

  std::int64_t tasks() const override { return parts_.tasks(); }
  void begin(const KernelCall& call) const override;
  void run_task(const KernelCall& call, std::int64_t task) const override;
  void finish(const KernelCall& /*call*/) const override {}

  bool begins_with(std::size_t operand) const override;
  Extent reads(std::int64_t task, std::size_t operand) const override;
  Extent writes(std::int64_t task, std::size_t result) const override;

 private:
  void lay_out_scratch();
  std::size_t part_bytes(const Parts& parts) const;
  /// The operands, copied if they have to be, and the result.
  Memory memory(const KernelCall& call) const;
  /// Copies operands and lets the strategy prepare.
  void prepare(const KernelCall& call) const;
  /// `slots`: of memory for parts; null if they need none.
  void run_part(const Part& part, const KernelCall& call, ScratchSlots* slots) const;
  Extent rows_of(std::int64_t task, std::int64_t row_bytes) const;

  Problem problem_;
  StrategyPtr strategy_;
  Parts parts_;  ///< of tasks; of one thread if the strategy divides by threads
  std::size_t a_offset_ = 0;
  std::size_t b_offset_ = 0;
  std::size_t prepared_offset_ = 0;
  std::size_t parts_offset_ = 0;
  std::size_t part_bytes_ = 0;  ///< of one of parts_
  std::size_t scratch_bytes_ = 0;
};

}  // namespace lockstep::product
