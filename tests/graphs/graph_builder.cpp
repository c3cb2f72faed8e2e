#include "tests/graphs/graph_builder.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/infer.h"
#include "core/ir/signature.h"

namespace lockstep::testing {
namespace {

constexpr int kMaxRank = 5;
constexpr std::int64_t kMaxElements = 3000;
/// Enough that kernels divide the work among threads.
constexpr std::int64_t kLargeSize = 9001;
constexpr std::int64_t kMaxElementsOfLarge = 80'000;

}  // namespace

GraphBuilder::GraphBuilder(std::uint64_t seed) : random_(seed) {
  main_float_ =
      one_of({DType::kF32, DType::kF32, DType::kF32, DType::kBF16, DType::kBF16, DType::kF16});
  max_elements_ = kMaxElements;
  for (int i = 0; i < 3; ++i)
    sizes_.push_back(
        one_of<std::int64_t>({2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 48, 64, 65}));
  if (chance(8)) sizes_.push_back(0);
  if (chance(2)) {
    sizes_.push_back(kLargeSize);
    max_elements_ = kMaxElementsOfLarge;
  }
}

std::int64_t GraphBuilder::pick(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
}

std::int64_t GraphBuilder::size() {
  if (chance(15)) return 1;
  return sizes_[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(sizes_.size()) - 1))];
}

Shape GraphBuilder::shape(int min_rank, int max_rank) {
  Shape out;
  const auto rank = static_cast<int>(pick(min_rank, max_rank));
  for (int d = 0; d < rank; ++d) {
    const std::int64_t next = size();
    out.push_back(out.elements() * next <= max_elements_ ? next : 1);
  }
  return out;
}

std::vector<std::int64_t> GraphBuilder::permutation(std::int64_t n) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  std::shuffle(out.begin(), out.end(), random_);
  return out;
}

std::optional<ValueId> GraphBuilder::find(const Wanted& wanted) {
  std::vector<ValueId> all, unused;
  for (ValueId id = 0; id < graph_.size(); ++id) {
    if (!wanted(id)) continue;
    all.push_back(id);
    if (users_[static_cast<std::size_t>(id)] == 0) unused.push_back(id);
  }
  if (all.empty()) return std::nullopt;
  const std::vector<ValueId>& from = !unused.empty() && chance(70) ? unused : all;
  const auto count = static_cast<std::int64_t>(from.size());
  const std::int64_t first = chance(50) ? std::max<std::int64_t>(0, count - 4) : 0;
  return from[static_cast<std::size_t>(pick(first, count - 1))];
}

HostTensor GraphBuilder::draw(const Type& type, Fill fill) {
  std::vector<double> out;
  const bool halves = type.dtype == DType::kBF16 || chance(50);
  for (std::int64_t i = 0; i < type.elements(); ++i) {
    if (!is_float(type.dtype)) {
      const bool is_byte = type.dtype == DType::kU8;
      out.push_back(
          static_cast<double>(type.dtype == DType::kBool ? pick(0, 1) : pick(is_byte ? 0 : -9, 9)));
    } else if (fill == Fill::kCoarse) {
      out.push_back(static_cast<double>(pick(-8, 8)) / (halves ? 2 : 4));
    } else {
      std::uniform_real_distribution<double> uniform(fill == Fill::kSmooth ? -2 : 0.5, 2);
      out.push_back(uniform(random_));
    }
  }
  return from_doubles(type.dtype, type.shape, out);
}

ValueId GraphBuilder::fresh(Type type, Fill fill) {
  if (type.elements() > max_elements_) throw Refused{};
  const auto kind = static_cast<InputKind>(pick(0, 3));
  return input(draw(type, fill), kind);
}

ValueId GraphBuilder::fresh(DType dtype, Shape shape) {
  return fresh({dtype, shape}, one_of({Fill::kCoarse, Fill::kSmooth, Fill::kPositive}));
}

ValueId GraphBuilder::fresh_integers(Type type, std::int64_t low, std::int64_t high) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < type.elements(); ++i)
    out.push_back(static_cast<double>(pick(low, high)));
  return input(from_doubles(type.dtype, type.shape, out), InputKind::kBatch);
}

ValueId GraphBuilder::input(const HostTensor& value, InputKind kind) {
  const std::string name = fmt::format("in.{}", graph_.inputs.size());
  graph_.add_input({value.dtype(), value.shape()}, kind, graph_.strings->intern(name));
  inputs_.push_back(value);
  estimates_.push_back(exactly(value));
  users_.push_back(0);
  return graph_.size() - 1;
}

ValueId GraphBuilder::constant(const HostTensor& value) {
  graph_.add_constant(value);
  estimates_.push_back(exactly(value));
  users_.push_back(0);
  return graph_.size() - 1;
}

ValueId GraphBuilder::scalar(DType dtype, double value) {
  return constant(from_doubles(dtype, Shape{}, std::vector<double>{value}));
}

ValueId GraphBuilder::splat(DType dtype, const Shape& shape, double value) {
  return broadcast(scalar(dtype, value), shape, {});
}

ValueId GraphBuilder::append(Node node) {
  if (node.type.elements() > max_elements_ || node.type.shape.rank() > kMaxRank) throw Refused{};
  std::vector<const Estimate*> operands;
  for (const ValueId id : node.operands) operands.push_back(&estimate(id));
  std::optional<Estimate> value = estimate_node(node, operands);
  if (!value || !value->says_something()) throw Refused{};
  for (const ValueId id : node.operands) ++users_[static_cast<std::size_t>(id)];
  estimates_.push_back(std::move(*value));
  users_.push_back(0);
  return graph_.append(std::move(node));
}

ValueId GraphBuilder::add(Op op, std::vector<ValueId> operands, Attrs attrs) {
  Node node;
  node.op = op;
  node.operands.assign(operands.begin(), operands.end());
  node.attrs = std::move(attrs);
  std::vector<Type> types;
  for (const ValueId id : node.operands) types.push_back(type(id));
  LS_CHECK(check_attrs(op, node.attrs).empty(), "{}", check_attrs(op, node.attrs));
  try {
    node.type = infer_type(op, types, node.attrs);
  } catch (const Error&) {
    throw Refused{};
  }
  return append(std::move(node));
}

ValueId GraphBuilder::add_call(std::vector<ValueId> operands, std::shared_ptr<const Graph> body) {
  Node node;
  node.op = Op::kCall;
  node.type = (*body)[body->outputs[0]].type;
  node.operands.assign(operands.begin(), operands.end());
  node.body = std::move(body);
  return append(std::move(node));
}

ValueId GraphBuilder::convert(ValueId x, DType to) {
  Attrs attrs;
  attrs.set_dtype(to);
  return add(Op::kConvert, {x}, attrs);
}

ValueId GraphBuilder::broadcast(ValueId x, const Shape& to, std::vector<std::int64_t> dims) {
  return add(Op::kBroadcast, {x}, {{Attr::kShape, to.sizes()}, {Attr::kDims, std::move(dims)}});
}

ValueId GraphBuilder::reduce(Op op, ValueId x, std::vector<std::int64_t> dims) {
  return add(op, {x}, {{Attr::kDims, std::move(dims)}});
}

ValueId GraphBuilder::reshape(ValueId x, const Shape& to) {
  return add(Op::kReshape, {x}, {{Attr::kShape, to.sizes()}});
}

Graph GraphBuilder::finish() {
  for (const auto& [value, input] : wanted_updates_) graph_.outputs.push_back(value);
  for (ValueId id = 0; id < graph_.size(); ++id) {
    const bool unused = users_[static_cast<std::size_t>(id)] == 0 && graph_[id].op != Op::kInput;
    if (unused ? chance(95) : chance(6)) graph_.outputs.push_back(id);
  }
  if (graph_.outputs.empty() || chance(5)) graph_.outputs.push_back(graph_.size() - 1);
  std::vector<bool> updated(graph_.inputs.size(), false);
  const auto try_update = [&](std::size_t output, std::size_t input) {
    const ValueId from = graph_.outputs[output];
    if (updated[input] || type(from) != type(graph_.inputs[input])) return false;
    updated[input] = true;
    graph_.updates.push_back({static_cast<std::int32_t>(output), static_cast<std::int32_t>(input)});
    return true;
  };
  const std::size_t wanted = wanted_updates_.size();
  for (std::size_t o = 0; o < wanted; ++o) {
    const auto at = std::ranges::find(graph_.inputs, wanted_updates_[o].second);
    try_update(o, static_cast<std::size_t>(at - graph_.inputs.begin()));
  }
  for (std::size_t o = wanted; o < graph_.outputs.size(); ++o)
    for (std::size_t i = 0; chance(60) && i < graph_.inputs.size(); ++i)
      if (graph_[graph_.inputs[i]].input_kind != InputKind::kScalar && try_update(o, i)) break;
  return std::move(graph_);
}

}  // namespace lockstep::testing
