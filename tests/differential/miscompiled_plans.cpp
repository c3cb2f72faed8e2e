#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/kernels/plan_kernel.h"
#include "tests/differential/miscompiles.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::testing {
namespace {

/// A kernel that runs another and then damages its first result.
class DamagingKernel : public Kernel {
 public:
  using Damage = void (*)(std::byte* result, const Type& type);
  DamagingKernel(std::shared_ptr<const Kernel> inner, Type type, Damage damage)
      : inner_(std::move(inner)), type_(type), damage_(damage) {}
  void run(const KernelCall& call) const override {
    inner_->run(call);
    damage_(call.results[0], type_);
  }
  std::size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  WorkClass work() const override { return inner_->work(); }

 private:
  std::shared_ptr<const Kernel> inner_;
  Type type_;
  Damage damage_;
};

/// One command after the other, which is always right too.
void run_one_by_one(SpoiledPlan& plan) {
  for (Command& command : plan.commands) command.with_previous = command.chained = false;
}

/// Wraps the first kernel whose node is `wanted`.
template <class Wanted>
bool damage_kernel(SpoiledPlan& plan, const Wanted& wanted, DamagingKernel::Damage damage) {
  for (std::size_t c = 0; c < plan.commands.size(); ++c) {
    if (plan.kernels[c] == nullptr) continue;
    const Node& node = plan.graph[plan.commands[c].value];
    if (!wanted(node)) continue;
    run_one_by_one(plan);  // the damaging kernel knows no tasks
    plan.kernels[c] = std::make_shared<DamagingKernel>(plan.kernels[c], node.type, damage);
    return true;
  }
  return false;
}

/// The last `count` elements are not written: what they were is anything, here zero bits inverted.
template <std::int64_t kFromEnd>
void leave_element(std::byte* result, const Type& type) {
  const auto size = size_of(type.dtype);
  std::byte* const element = result + (static_cast<std::size_t>(type.elements()) - kFromEnd) * size;
  for (std::size_t i = 0; i < size; ++i)
    element[i] = type.dtype == DType::kBool ? element[i] ^ std::byte{1} : ~element[i];
}

bool tail_off_by_one(SpoiledPlan& plan) {
  return damage_kernel(
      plan,
      [](const Node& node) { return node.op == Op::kFusion && node.type.elements() % 16 > 1; },
      leave_element<1>);
}

bool last_row_left_out(SpoiledPlan& plan) {
  return damage_kernel(
      plan, [](const Node& node) { return node.op == Op::kDotGeneral && node.type.elements() > 1; },
      leave_element<1>);
}

bool second_element_skipped(SpoiledPlan& plan) {
  return damage_kernel(
      plan, [](const Node& node) { return node.type.elements() > 2; }, leave_element<2>);
}

std::vector<Type> operand_types(const Graph& graph, const Node& node) {
  std::vector<Type> out;
  for (const ValueId operand : node.operands) out.push_back(graph[operand].type);
  return out;
}

/// Rebuilds the first kernel of a group whose body `change` changes.
template <class Change>
bool change_group(SpoiledPlan& plan, const Change& change) {
  for (std::size_t c = 0; c < plan.commands.size(); ++c) {
    if (plan.kernels[c] == nullptr) continue;
    Node node = plan.graph[plan.commands[c].value];
    if (node.op != ControlOp::kFusion || node.type.elements() == 0) continue;
    Graph body = *node.body;
    const bool changed = std::ranges::any_of(body.nodes, change);
    if (!changed) continue;
    node.body = std::make_shared<const Graph>(std::move(body));
    plan.kernels[c] = make_kernel(node, operand_types(plan.graph, node), tested_target());
    return true;
  }
  return false;
}

bool swapped_inside_group(SpoiledPlan& plan) {
  return change_group(plan, [](Node& node) {
    if (node.op != Op::kSubtract && node.op != Op::kDivide) return false;
    if (node.operands[0] == node.operands[1]) return false;
    std::swap(node.operands[0], node.operands[1]);
    return true;
  });
}

bool wrong_op_inside_group(SpoiledPlan& plan) {
  return change_group(plan, [](Node& node) {
    if (node.op != Op::kMaximum) return false;
    node.op = Op::kMinimum;
    return true;
  });
}

bool wrong_operand_of_group(SpoiledPlan& plan) {
  for (std::size_t c = 0; c < plan.commands.size(); ++c) {
    Command& command = plan.commands[c];
    if (plan.kernels[c] == nullptr || plan.graph[command.value].op != Op::kFusion) continue;
    const Node& node = plan.graph[command.value];
    for (std::size_t i = 1; i < command.operands.size(); ++i) {
      if (plan.graph[node.operands[i]].type != plan.graph[node.operands[0]].type) continue;
      std::swap(command.operands[0], command.operands[i]);
      return true;
    }
  }
  return false;
}

bool reads(const Command& command, const BufferSlice& slice) {
  return std::ranges::find(command.operands, slice) != command.operands.end();
}

/// A result written over an operand that a later command still reads.
bool overwritten_too_early(SpoiledPlan& plan) {
  run_one_by_one(plan);
  for (std::size_t c = 0; c < plan.commands.size(); ++c) {
    if (plan.kernels[c] == nullptr) continue;
    const BufferSlice result = plan.commands[c].results[0];
    for (const BufferSlice& operand : plan.commands[c].operands) {
      if (result.area != Area::kArena || operand.area != Area::kArena || operand == result ||
          operand.bytes != result.bytes || result.bytes == 0)
        continue;
      const auto later = std::find_if(
          plan.commands.begin() + static_cast<std::ptrdiff_t>(c) + 1, plan.commands.end(),
          [&](const Command& command) { return reads(command, operand); });
      if (later == plan.commands.end()) continue;
      const BufferSlice overwritten = operand;
      for (std::size_t k = c; k < plan.commands.size(); ++k)
        for (auto* slices : {&plan.commands[k].operands, &plan.commands[k].results})
          if (k > c || slices == &plan.commands[k].results)
            std::ranges::replace(*slices, result, overwritten);
      return true;
    }
  }
  return false;
}

/// Two commands that depend on each other, in the wrong order.
bool stale_operand(SpoiledPlan& plan) {
  run_one_by_one(plan);
  for (std::size_t c = 1; c < plan.commands.size(); ++c) {
    const Command& before = plan.commands[c - 1];
    if (before.results[0].bytes == 0 || !reads(plan.commands[c], before.results[0])) continue;
    std::swap(plan.commands[c - 1], plan.commands[c]);
    std::swap(plan.kernels[c - 1], plan.kernels[c]);
    return true;
  }
  return false;
}

/// A donated input is updated before its last reader ran.
bool updated_too_early(SpoiledPlan& plan) {
  run_one_by_one(plan);
  for (std::size_t c = 1; c < plan.commands.size(); ++c) {
    const BufferSlice result = plan.commands[c].results[0];
    if (result.area != Area::kOutput || result.bytes == 0) continue;
    const std::int32_t donor = plan.donated_inputs[static_cast<std::size_t>(result.index)];
    if (donor < 0) continue;
    for (std::size_t reader = c; reader-- > 0;) {
      const bool reads_old = std::ranges::any_of(
          plan.commands[reader].operands,
          [&](const BufferSlice& p) { return p.area == Area::kInput && p.index == donor; });
      if (!reads_old || reads(plan.commands[c], plan.commands[reader].results[0])) continue;
      std::rotate(plan.commands.begin() + static_cast<std::ptrdiff_t>(reader),
                  plan.commands.begin() + static_cast<std::ptrdiff_t>(reader) + 1,
                  plan.commands.begin() + static_cast<std::ptrdiff_t>(c) + 1);
      std::rotate(plan.kernels.begin() + static_cast<std::ptrdiff_t>(reader),
                  plan.kernels.begin() + static_cast<std::ptrdiff_t>(reader) + 1,
                  plan.kernels.begin() + static_cast<std::ptrdiff_t>(c) + 1);
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Miscompile> miscompiled_plans() {
  return {{"tail_off_by_one", nullptr, tail_off_by_one},
          {"last_row_left_out", nullptr, last_row_left_out},
          {"second_element_skipped", nullptr, second_element_skipped},
          {"swapped_inside_group", nullptr, swapped_inside_group},
          {"wrong_op_inside_group", nullptr, wrong_op_inside_group},
          {"wrong_operand_of_group", nullptr, wrong_operand_of_group},
          {"overwritten_too_early", nullptr, overwritten_too_early},
          {"stale_operand", nullptr, stale_operand},
          {"updated_too_early", nullptr, updated_too_early}};
}

}  // namespace lockstep::testing
