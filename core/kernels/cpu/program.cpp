#include "core/kernels/cpu/program.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

using Value = Program::Value;
using Step = Program::Step;
using Place = Program::Value::Place;

constexpr std::byte kZero[8] = {};

/// The arena of one tile stays well inside of an L1 cache of 32 KiB.
constexpr std::size_t kArenaBudget = std::size_t{20} << 10;
constexpr std::int64_t kLargestTile = 1024;

/// For each dimension of a node the result dimension it runs along, or -1 where it stays at 0.
using DimMap = std::vector<int>;

class Compiler {
 public:
  Compiler(std::shared_ptr<const Graph> body, Isa isa)
      : isa_(isa), graph_(*body), sizes_(graph_[graph_.outputs[0]].type.shape.sizes()) {
    program_.body = std::move(body);
    program_.elements = graph_[graph_.outputs[0]].type.elements();
    program_.aliasable.assign(graph_.inputs.size(), true);
  }

  Program compile() {
    DimMap identity(sizes_.size());
    for (std::size_t d = 0; d < sizes_.size(); ++d) identity[d] = static_cast<int>(d);
    finish(value_of(graph_.outputs[0], identity));
    assign_places();
    return std::move(program_);
  }

 private:
  const Node& node(ValueId id) const { return graph_[id]; }
  bool is_uniform(int value) const { return at(value).place == Place::kUniform; }
  Value& at(int value) { return program_.values[static_cast<std::size_t>(value)]; }
  const Value& at(int value) const { return program_.values[static_cast<std::size_t>(value)]; }

  int value_of(ValueId id, DimMap map);
  int make_value(ValueId id, const DimMap& map);
  int elementwise(const Node& n, const DimMap& map);
  int leaf(const Node& n, const DimMap& map, int operand, const std::byte* literal);
  int iota(const Node& n, const DimMap& map);
  int random(const Node& n, const DimMap& map);
  int splat(int value);
  int new_value(DType dtype, bool uniform);
  std::vector<std::int64_t> strides_of(const Node& n, const DimMap& map) const;
  void finish(int result);
  void assign_places();

  Isa isa_;
  const Graph& graph_;
  std::vector<std::int64_t> sizes_;  ///< of the result
  Program program_;
  std::map<std::pair<ValueId, DimMap>, int> made_;
  std::map<int, int> splats_;
};

int Compiler::new_value(DType dtype, bool uniform) {
  Value value;
  value.bytes = size_of(dtype);
  if (uniform) {
    value.place = Place::kUniform;
    value.offset = program_.uniform_bytes;
    program_.uniform_bytes += kTileBlock * sizeof(std::uint64_t);
  }
  program_.values.push_back(value);
  return static_cast<int>(program_.values.size()) - 1;
}

int Compiler::value_of(ValueId id, DimMap map) {
  const Shape& shape = node(id).type.shape;
  for (std::size_t d = 0; d < map.size(); ++d)
    if (shape[static_cast<int>(d)] == 1) map[d] = -1;
  const auto key = std::make_pair(id, map);
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  const int value = make_value(id, map);
  made_.emplace(key, value);
  return value;
}

int Compiler::make_value(ValueId id, const DimMap& map) {
  const Node& n = node(id);
  switch (n.op) {
    case Op::kInput: {
      const auto found = std::find(graph_.inputs.begin(), graph_.inputs.end(), id);
      return leaf(n, map, static_cast<int>(found - graph_.inputs.begin()), nullptr);
    }
    case Op::kConstant: return leaf(n, map, -1, n.literal.bytes().data());
    case Op::kIota: return iota(n, map);
    case Op::kRandomBits: return random(n, map);
    case Op::kBroadcast: {
      DimMap operand_map;
      for (const std::int64_t d : n.attrs.ints(Attr::kDims))
        operand_map.push_back(map[static_cast<std::size_t>(d)]);
      return value_of(n.operands[0], std::move(operand_map));
    }
    default:
      LS_CHECK(is_elementwise(n.op), "{} cannot be part of an elementwise group", name_of(n.op));
      return elementwise(n, map);
  }
}

std::vector<std::int64_t> Compiler::strides_of(const Node& n, const DimMap& map) const {
  const std::vector<std::int64_t> own = n.type.shape.strides();
  std::vector<std::int64_t> out(sizes_.size(), 0);
  for (std::size_t d = 0; d < map.size(); ++d)
    if (map[d] >= 0) out[static_cast<std::size_t>(map[d])] = own[d];
  return out;
}

int Compiler::leaf(const Node& n, const DimMap& map, int operand, const std::byte* literal) {
  const StridedView view(sizes_, strides_of(n, map));
  const bool in_place = view.is_contiguous();
  if (operand >= 0 && !in_place) program_.aliasable[static_cast<std::size_t>(operand)] = false;
  const int index = static_cast<int>(program_.leaves.size());
  program_.leaves.push_back({operand, literal, view});
  const bool uniform = view.is_single();
  const int value = new_value(n.type.dtype, uniform);
  if (in_place && !uniform) {
    at(value).place = Place::kDirect;
    at(value).leaf = index;
    return value;
  }
  Step step;
  step.kind = Step::Kind::kLoad;
  step.out = value;
  step.leaf = index;
  (uniform ? program_.uniform_steps : program_.tile_steps).push_back(step);
  return value;
}

int Compiler::iota(const Node& n, const DimMap& map) {
  const int along = map[static_cast<std::size_t>(n.attrs.integer(Attr::kAxis))];
  if (along < 0) return leaf(n, DimMap(map.size(), -1), -1, kZero);
  Step step;
  step.kind = Step::Kind::kIota;
  step.dtype = n.type.dtype;
  step.iota_size = sizes_[static_cast<std::size_t>(along)];
  for (std::size_t d = static_cast<std::size_t>(along) + 1; d < sizes_.size(); ++d)
    step.iota_inner *= sizes_[d];
  step.out = new_value(n.type.dtype, false);
  program_.tile_steps.push_back(step);
  return step.out;
}

int Compiler::random(const Node& n, const DimMap& map) {
  Step step;
  step.kind = Step::Kind::kRandom;
  step.stream = static_cast<std::uint64_t>(n.attrs.integer(Attr::kStream));
  step.view = StridedView(sizes_, strides_of(n, map));
  for (std::size_t i = 0; i < 3; ++i) step.in[i] = value_of(n.operands[i], {});
  const bool uniform = step.view.is_single();
  step.out = new_value(n.type.dtype, uniform);
  (uniform ? program_.uniform_steps : program_.tile_steps).push_back(step);
  return step.out;
}

/// A uniform value as a whole tile, filled once per task.
int Compiler::splat(int value) {
  const auto found = splats_.find(value);
  if (found != splats_.end()) return found->second;
  Step step;
  step.kind = Step::Kind::kSplat;
  step.in[0] = value;
  Value tile;
  tile.bytes = at(value).bytes;
  program_.values.push_back(tile);
  step.out = static_cast<int>(program_.values.size()) - 1;
  program_.task_steps.push_back(step);
  splats_.emplace(value, step.out);
  return step.out;
}

int Compiler::elementwise(const Node& n, const DimMap& map) {
  Step step;
  const std::size_t count = n.operands.size();
  unsigned single = 0;
  for (std::size_t i = 0; i < count; ++i) {
    step.in[i] = value_of(n.operands[i], map);
    if (is_uniform(step.in[i])) single |= 1U << i;
  }
  const DType operand = node(n.operands[count - 1]).type.dtype;
  const bool uniform = single == (1U << count) - 1;
  step.fn = uniform ? nullptr : find_tile_op(isa_, n.op, operand, n.type.dtype, single);
  if (step.fn == nullptr) {
    step.fn = find_tile_op(isa_, n.op, operand, n.type.dtype, 0);
    LS_CHECK(step.fn != nullptr, "no loop for {} of {}", name_of(n.op), name_of(operand));
    for (std::size_t i = 0; i < count && !uniform; ++i)
      if (is_uniform(step.in[i])) step.in[i] = splat(step.in[i]);
  }
  step.out = new_value(n.type.dtype, uniform);
  (uniform ? program_.uniform_steps : program_.tile_steps).push_back(step);
  return step.out;
}

/// Makes `result` the output of the last tile step.
void Compiler::finish(int result) {
  if (!program_.tile_steps.empty() && program_.tile_steps.back().out == result) return;
  Step step;
  if (is_uniform(result)) {
    step.kind = Step::Kind::kSplat;
    step.in[0] = result;
  } else {
    step.kind = Step::Kind::kLoad;
    step.leaf = at(result).leaf;
    LS_CHECK(step.leaf >= 0, "the result of a group is neither its last step nor a leaf");
  }
  Value value;
  value.bytes = at(result).bytes;
  program_.values.push_back(value);
  step.out = static_cast<int>(program_.values.size()) - 1;
  program_.tile_steps.push_back(step);
}

/// Gives every value of a tile a place in the arena; places are reused after a value's last use, by
/// the very step that uses it last if the sizes match.
void Compiler::assign_places() {
  std::vector<std::size_t> last_use(program_.values.size(), 0);
  for (std::size_t s = 0; s < program_.tile_steps.size(); ++s)
    for (const int in : program_.tile_steps[s].in)
      if (in >= 0) last_use[static_cast<std::size_t>(in)] = s;

  std::map<std::size_t, std::vector<std::size_t>> free;  // by bytes
  const auto take = [&](Value& value) {
    auto& places = free[value.bytes];
    if (places.empty()) {
      value.offset = program_.arena_bytes_per_element;
      program_.arena_bytes_per_element += value.bytes;
    } else {
      value.offset = places.back();
      places.pop_back();
    }
  };
  for (Value& value : program_.values)
    if (value.place == Place::kDirect) take(value);
  for (const Step& step : program_.task_steps) take(at(step.out));
  for (std::size_t s = 0; s < program_.tile_steps.size(); ++s) {
    const Step& step = program_.tile_steps[s];
    for (std::size_t i = 0; i < 3; ++i) {
      const int in = step.in[i];
      if (in < 0 || last_use[static_cast<std::size_t>(in)] != s) continue;
      const bool repeated = std::find(step.in, step.in + i, in) != step.in + i;
      const bool splatted = std::any_of(program_.task_steps.begin(), program_.task_steps.end(),
                                        [&](const Step& t) { return t.out == in; });
      if (at(in).place == Place::kArena && !repeated && !splatted)
        free[at(in).bytes].push_back(at(in).offset);
    }
    if (at(step.out).place == Place::kArena) take(at(step.out));
  }

  const std::size_t per_element = std::max<std::size_t>(program_.arena_bytes_per_element, 1);
  const auto fitting = static_cast<std::int64_t>(
      std::bit_floor(std::max<std::size_t>(kArenaBudget / per_element, kTileBlock)));
  program_.tile = std::min(kLargestTile, fitting);
}

}  // namespace

Program compile_program(std::shared_ptr<const Graph> body, Isa isa) {
  LS_CHECK(body->outputs.size() == 1, "a group has one output, not {}", body->outputs.size());
  return Compiler(std::move(body), isa).compile();
}

}  // namespace lockstep
