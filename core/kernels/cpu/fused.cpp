// Runs a Program tile by tile. Tiles are padded to whole blocks and a padded tile never touches
// operand or result memory past its end, so that every element goes through the same loops.
#include <array>
#include <cstring>

#include "core/base/error.h"
#include "core/kernels/cpu/grid.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/philox.h"
#include "core/kernels/cpu/program.h"

namespace lockstep {
namespace {

using Place = Program::Value::Place;
using Step = Program::Step;

/// Arenas up to this size live on the stack, where consecutive kernels find them in the cache.
constexpr std::size_t kStackArena = std::size_t{48} << 10;

/// One task: the values of a program for one tile after the other.
class Interpreter {
 public:
  Interpreter(const Program& program, Isa isa, const KernelCall& call, std::byte* arena)
      : program_(program), isa_(isa), call_(call), arena_(arena), at_(program.values.size()) {
    for (std::size_t v = 0; v < at_.size(); ++v) at_[v] = place_in_arena(program.values[v]);
    for (const Step& step : program.uniform_steps) run_step(step, 0, 1, kTileBlock);
    for (const Step& step : program.task_steps) run_step(step, 0, program.tile, program.tile);
  }

  /// Result elements [start, start + count), at most a tile.
  void run_tile(std::int64_t start, std::int64_t count) {
    const std::int64_t padded = (count + kTileBlock - 1) / kTileBlock * kTileBlock;
    const bool in_place = padded == count;
    place_direct_values(start, count, padded);
    const Step& last = program_.tile_steps.back();
    const std::size_t bytes = value(last.out).bytes;
    std::byte* result = call_.results[0] + static_cast<std::size_t>(start) * bytes;
    std::byte*& out = at_[static_cast<std::size_t>(last.out)];
    std::byte* const own = out;
    if (in_place) out = result;
    for (const Step& step : program_.tile_steps) run_step(step, start, count, padded);
    if (!in_place) std::memcpy(result, own, static_cast<std::size_t>(count) * bytes);
    out = own;
  }

 private:
  const Program::Value& value(int v) const { return program_.values[static_cast<std::size_t>(v)]; }
  std::byte* at(int v) const { return at_[static_cast<std::size_t>(v)]; }

  std::byte* place_in_arena(const Program::Value& v) const {
    if (v.place == Place::kUniform) return arena_ + v.offset;
    return arena_ + program_.uniform_bytes + v.offset * static_cast<std::size_t>(program_.tile);
  }
  const std::byte* memory(const Program::Leaf& leaf) const {
    return leaf.operand < 0 ? leaf.literal : call_.operands[static_cast<std::size_t>(leaf.operand)];
  }
  void place_direct_values(std::int64_t start, std::int64_t count, std::int64_t padded);
  void run_step(const Step& step, std::int64_t start, std::int64_t count, std::int64_t padded);
  void run_random(const Step& step, std::int64_t start, std::int64_t count, std::int64_t padded);

  const Program& program_;
  Isa isa_;
  const KernelCall& call_;
  std::byte* arena_;
  std::vector<std::byte*> at_;  ///< where each value is now
};

void Interpreter::place_direct_values(std::int64_t start, std::int64_t count, std::int64_t padded) {
  for (std::size_t v = 0; v < at_.size(); ++v) {
    const Program::Value& value = program_.values[v];
    if (value.place != Place::kDirect) continue;
    const std::byte* from = memory(program_.leaves[static_cast<std::size_t>(value.leaf)]) +
                            static_cast<std::size_t>(start) * value.bytes;
    if (padded == count) {
      at_[v] = const_cast<std::byte*>(from);  // steps write to their own outputs only
    } else {
      at_[v] = place_in_arena(value);
      const std::size_t used = static_cast<std::size_t>(count) * value.bytes;
      std::memcpy(at_[v], from, used);
      std::memset(at_[v] + used, 0, static_cast<std::size_t>(padded) * value.bytes - used);
    }
  }
}

void Interpreter::run_step(const Step& step, std::int64_t start, std::int64_t count,
                           std::int64_t padded) {
  std::byte* out = at(step.out);
  const std::size_t bytes = value(step.out).bytes;
  switch (step.kind) {
    case Step::Kind::kOp: {
      TileArgs args{out, {}, padded};
      for (std::size_t i = 0; i < 3; ++i)
        if (step.in[i] >= 0) args.in[i] = at(step.in[i]);
      step.fn(args);
      return;
    }
    case Step::Kind::kLoad: {
      const Program::Leaf& leaf = program_.leaves[static_cast<std::size_t>(step.leaf)];
      if (value(step.out).place == Place::kUniform) {
        fill_value(memory(leaf), bytes, padded, out);
      } else {
        load_view(leaf.view, memory(leaf), bytes, start, count, out);
        break;
      }
      return;
    }
    case Step::Kind::kSplat: fill_value(at(step.in[0]), bytes, padded, out); return;
    case Step::Kind::kIota:
      fill_iota(step.dtype, step.iota_size, step.iota_inner, start, count, out);
      break;
    case Step::Kind::kRandom: run_random(step, start, count, padded); return;
  }
  std::memset(out + static_cast<std::size_t>(count) * bytes, 0,
              static_cast<std::size_t>(padded - count) * bytes);
}

void Interpreter::run_random(const Step& step, std::int64_t start, std::int64_t count,
                             std::int64_t padded) {
  const auto scalar = [&](int v) {
    std::int64_t out = 0;
    std::memcpy(&out, at(v), sizeof out);
    return static_cast<std::uint64_t>(out);
  };
  const RngKey key{scalar(step.in[0]), step.stream, scalar(step.in[1]),
                   static_cast<std::uint32_t>(scalar(step.in[2]))};
  auto* out = reinterpret_cast<std::uint32_t*>(at(step.out));
  if (step.view.is_contiguous() && !step.view.is_single()) {
    philox_blocks(isa_, key, static_cast<std::uint64_t>(start) / 4, padded / 4, out);
    return;
  }
  for (std::int64_t i = 0; i < padded; ++i) {
    std::int64_t rest = i < count ? start + i : start;
    std::int64_t word = 0;
    for (std::size_t d = step.view.dims.size(); d-- > 0; rest /= step.view.dims[d].size)
      word += rest % step.view.dims[d].size * step.view.dims[d].stride;
    out[i] = random_word(key, static_cast<std::uint64_t>(word));
  }
}

class FusedKernel final : public Kernel {
 public:
  FusedKernel(Program program, Isa isa) : program_(std::move(program)), isa_(isa) {
    // Whole tiles per task.
    grid_ = make_grid(program_.elements, kTaskElements, program_.tile);
  }

  void run(const KernelCall& call) const override {
    call.pool.parallel_for(grid_.tasks(), [&](std::int64_t task) {
      alignas(64) std::byte on_stack[kStackArena];
      BufferPtr on_heap;  // for a group of hundreds of live values
      if (program_.arena_bytes() > kStackArena) on_heap = allocate_host(program_.arena_bytes());
      Interpreter interpreter(program_, isa_, call, on_heap ? on_heap->data() : on_stack);
      for (std::int64_t i = grid_.begin(task); i < grid_.end(task); i += program_.tile)
        interpreter.run_tile(i, std::min(program_.tile, grid_.end(task) - i));
    });
  }
  std::string name() const override { return "fused"; }
  bool may_alias(std::size_t operand) const override { return program_.aliasable[operand]; }

 private:
  Program program_;
  Isa isa_;
  Grid grid_{0, 1};
};

/// A group of one node.
std::shared_ptr<const Graph> group_of(const Node& node, Types operands) {
  auto body = std::make_shared<Graph>();
  Node copy = node;
  copy.operands.clear();
  for (const Type& type : operands)
    copy.operands.push_back(body->add_input(type, InputKind::kState, ""));
  body->outputs.push_back(body->append(std::move(copy)));
  return body;
}

}  // namespace

KernelPtr make_fused(const Node& node, Types operands, const Target& target) {
  auto body = node.op == Op::kFusion ? node.body : group_of(node, operands);
  const std::size_t result_bytes = size_of((*body)[body->outputs[0]].type.dtype);
  Program program = compile_program(std::move(body), target.isa);
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (size_of(operands[i].dtype) != result_bytes) program.aliasable[i] = false;
  return std::make_shared<FusedKernel>(std::move(program), target.isa);
}

}  // namespace lockstep
