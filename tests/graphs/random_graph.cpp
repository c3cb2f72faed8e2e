#include "tests/graphs/random_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "core/ir/text.h"
#include "tests/graphs/random_steps.h"

namespace lockstep::testing {
namespace {

constexpr int kMaxAttempts = 1000;
constexpr std::int64_t kMaxPrinted = 64;

std::vector<Op> random_ops() {
  std::vector<Op> out;
  for (const OpInfo& info : op_table())
    if (info.op != Op::kInput && info.op != Op::kConstant && !is_made_by_passes(info.op))
      out.push_back(info.op);
  // Converts have the most cases; of the gradient most draws are refused.
  for (const Op op : {Op(Op::kConvert), Op(Op::kAttentionGrad)}) out.insert(out.end(), 2, op);
  return out;
}

/// What the outputs depend on, and all inputs that updates name.
RandomGraph only_needed(const RandomGraph& from) {
  std::vector<bool> keep = find_reachable(from.graph);
  for (const Update& update : from.graph.updates)
    keep[static_cast<std::size_t>(from.graph.inputs[static_cast<std::size_t>(update.input)])] =
        true;
  RandomGraph out;
  std::vector<std::int32_t> place(from.inputs.size(), -1);
  for (std::size_t i = 0; i < from.inputs.size(); ++i) {
    if (!keep[static_cast<std::size_t>(from.graph.inputs[i])]) continue;
    place[i] = static_cast<std::int32_t>(out.inputs.size());
    out.inputs.push_back(from.inputs[i]);
  }
  Graph plain = from.graph;
  plain.updates.clear();
  out.graph = keep_only(std::move(plain), keep);
  for (const Update& update : from.graph.updates)
    out.graph.updates.push_back({update.output, place[static_cast<std::size_t>(update.input)]});
  return out;
}

/// The graph with a node replaced by an input that holds its value.
RandomGraph cut_at(const RandomGraph& from, ValueId id, const Estimate& value) {
  RandomGraph out = from;
  Node& node = out.graph.nodes[static_cast<std::size_t>(id)];
  const Type type = node.type;
  node = Node{};
  node.type = type;
  node.name = out.graph.strings->intern(fmt::format("cut.{}", id));
  out.graph.inputs.push_back(id);
  out.inputs.push_back(is_float(type.dtype)
                           ? from_doubles(type.dtype, type.shape, to_doubles(value.value))
                           : value.value);
  return only_needed(out);
}

/// The graph with an operand of its type in a node's place.
RandomGraph without(const RandomGraph& from, ValueId id, ValueId instead) {
  RandomGraph out = from;
  for (Node& node : out.graph.nodes) std::ranges::replace(node.operands, id, instead);
  std::ranges::replace(out.graph.outputs, id, instead);
  return only_needed(out);
}

rc::Shrinkable<RandomGraph> shrinkable(RandomGraph graph) {
  return rc::shrinkable::shrinkRecur(std::move(graph), [](const RandomGraph& large) {
    return rc::seq::fromContainer(simpler(large));
  });
}

}  // namespace

RandomGraph random_graph(std::uint64_t seed, int nodes) {
  GraphBuilder b(seed);
  const std::vector<Op> ops = random_ops();
  b.fresh(b.main_float(), b.shape(2, 3));
  for (int i = 0; i < kMaxAttempts && b.size_so_far() < nodes; ++i) {
    try {
      if (b.chance(9)) {
        add_random_pattern(b);
      } else {
        add_random_op(
            b, ops[static_cast<std::size_t>(b.pick(0, static_cast<std::int64_t>(ops.size()) - 1))]);
      }
    } catch (const Refused&) {  // what was added until then stays
    }
  }
  RandomGraph out;
  out.graph = b.finish();
  out.inputs = b.inputs();
  return out;
}

rc::Gen<RandomGraph> random_graphs() {
  return [](const rc::Random& random, int) {
    rc::Random source = random;
    const std::uint64_t seed = source.next();
    return shrinkable(random_graph(seed, 10 + static_cast<int>(seed % 51)));
  };
}

std::vector<RandomGraph> simpler(const RandomGraph& from) {
  std::vector<RandomGraph> out;
  const auto propose = [&](RandomGraph graph) {
    const bool smaller = graph.graph.nodes.size() < from.graph.nodes.size() ||
                         graph.graph.outputs.size() < from.graph.outputs.size();
    if (smaller && estimate_graph(graph.graph, graph.inputs)) out.push_back(std::move(graph));
  };
  if (!from.graph.updates.empty()) {
    RandomGraph plain = from;
    plain.graph.updates.clear();
    out.push_back(only_needed(plain));
  }
  if (from.graph.outputs.size() > 1) {
    for (const ValueId output : from.graph.outputs) {
      RandomGraph one = from;
      one.graph.outputs = {output};
      one.graph.updates.clear();
      propose(only_needed(one));
    }
  }
  const auto estimates = estimate_graph(from.graph, from.inputs);
  if (!estimates) return out;
  for (ValueId id = from.graph.size() - 1; id >= 0; --id) {
    const Node& node = from.graph[id];
    if (node.op == Op::kInput || node.op == Op::kConstant) continue;
    if (from.graph.outputs.size() > 1 || from.graph.outputs[0] != id)
      propose(cut_at(from, id, (*estimates)[static_cast<std::size_t>(id)]));
    for (const ValueId operand : node.operands)
      if (from.graph[operand].type == node.type) propose(without(from, id, operand));
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const RandomGraph& random) {
  out << print(random.graph);
  for (std::size_t i = 0; i < random.inputs.size(); ++i) {
    const std::vector<double> elements = to_doubles(random.inputs[i]);
    out << fmt::format("// input {} = [", i);
    for (std::size_t k = 0; k < elements.size(); ++k) {
      if (k == kMaxPrinted) {
        out << ", ...";
        break;
      }
      out << fmt::format("{}{}", k == 0 ? "" : ", ", elements[k]);
    }
    out << "]\n";
  }
  return out;
}

}  // namespace lockstep::testing
