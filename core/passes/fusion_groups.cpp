#include "core/passes/fusion_groups.h"

#include <algorithm>
#include <utility>

#include "core/passes/fusion_rules.h"

namespace lockstep {
namespace {

bool is_prefix(const Shape& shape, const Shape& of) {
  if (shape.rank() >= of.rank() || shape.rank() == 0) return false;
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] != of[i]) return false;
  return true;
}

/// Rows of columns: whether an elementwise group can run on the rows of another.
bool unite_rows(const FusionGroup& rows, const FusionGroup& whole, FusionGroup& out) {
  if (rows.axis >= 0 || !is_prefix(rows.domain, whole.domain)) return false;
  if (whole.axis >= 0 && whole.axis != rows.domain.rank()) return false;
  out.domain = whole.domain;
  out.axis = rows.domain.rank();
  return true;
}

}  // namespace

std::string_view describe(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone: return "nothing";
    case Refusal::kMemory: return "it is read from memory";
    case Refusal::kDomain: return "their rows or columns differ";
    case Refusal::kCycle: return "other work stands between them";
    case Refusal::kTooFar: return "too much work stands between them";
    case Refusal::kNodes: return "the group would be too large";
    case Refusal::kOperands: return "the group would have too many operands";
    case Refusal::kResults: return "the group would have too many results";
  }
  __builtin_unreachable();
}

FusionGroups::FusionGroups(const Graph& graph, std::vector<bool> cloned)
    : graph_(graph), links_(graph, std::move(cloned)), groups_(graph.nodes.size()) {
  for (ValueId id = 0; id < graph.size(); ++id) add_value(id);
  constexpr int kMaxRounds = 4;  // a join can make room for another
  for (int round = 0; round < kMaxRounds && join_links(false); ++round) {
  }
  for (int round = 0; round < kMaxRounds && join_links(true); ++round) {
  }
  join_siblings();
}

void FusionGroups::add_value(ValueId id) {
  order_.add_node();
  if (!links_.is_unit(id)) return;
  for (const FusionRead& read : links_.reads(id))
    order_.add_edge(read.source, id, read.link == Link::kMemory);
  if (!links_.is_fusible(id)) return;
  FusionGroup& group = groups_[index_of(id)];
  group.members = {id};
  const FusionKind kind = links_.kind(id);
  const Shape& shape = graph_[id].type.shape;
  group.domain =
      kind == FusionKind::kElementwise ? shape : graph_[graph_[id].operands[0]].type.shape;
  if (kind == FusionKind::kRowReduction) group.axis = shape.rank();
  if (kind == FusionKind::kConcatenation) group.axis = group.domain.rank();
  if (kind == FusionKind::kColumnSum) group.axis = group.domain.rank() - shape.rank();
}

bool FusionGroups::is_result(ValueId unit) {
  if (links_.is_output(unit)) return true;
  const ValueId own = group_of(unit);
  return std::ranges::any_of(links_.readers(unit),
                             [&](ValueId reader) { return group_of(reader) != own; });
}

bool FusionGroups::join_links(bool with_sums) {
  bool any = false;
  for (ValueId id = graph_.size() - 1; id >= 0; --id) {
    if (!links_.is_unit(id) || !links_.is_fusible(id)) continue;
    const FusionKind kind = links_.kind(id);
    const bool is_sum = kind == FusionKind::kColumnSum || kind == FusionKind::kTotal;
    if (is_sum && !with_sums) continue;
    for (const FusionRead& read : links_.reads(id)) {
      if (read.link == Link::kMemory) continue;
      const ValueId a = group_of(read.source);
      const ValueId b = group_of(id);
      any = (a != b && join(a, b) == Refusal::kNone) || any;
    }
  }
  return any;
}

/// Groups over one domain that read the same value of the domain's shape.
void FusionGroups::join_siblings() {
  for (ValueId source = 0; source < graph_.size(); ++source) {
    ValueId last = kNoValue;
    for (const ValueId reader : links_.readers(source)) {
      if (!links_.is_unit(reader) || !links_.is_fusible(reader)) continue;
      const ValueId next = group_of(reader);
      if (group(next).domain != graph_[source].type.shape) continue;
      if (last != kNoValue && group_of(last) != next &&
          group(group_of(last)).domain == group(next).domain)
        join(group_of(last), next);
      last = reader;
    }
  }
}

Refusal FusionGroups::join(ValueId a, ValueId b) {
  FusionGroup joined;
  FusionGroup& first = groups_[index_of(a)];
  FusionGroup& second = groups_[index_of(b)];
  if (first.domain == second.domain) {
    if (first.axis >= 0 && second.axis >= 0 && first.axis != second.axis) return Refusal::kDomain;
    joined.domain = first.domain;
    joined.axis = std::max(first.axis, second.axis);
  } else if (!unite_rows(first, second, joined) && !unite_rows(second, first, joined)) {
    return Refusal::kDomain;
  }
  if (const Refusal refusal = measure(a, b); refusal != Refusal::kNone) return refusal;
  const FusionOrder::Answer answer = order_.merge(a, b);
  if (answer == FusionOrder::Answer::kCycle) return Refusal::kCycle;
  if (answer == FusionOrder::Answer::kTooFar) return Refusal::kTooFar;
  joined.members = std::move(first.members);
  joined.members.insert(joined.members.end(), second.members.begin(), second.members.end());
  first = second = {};
  groups_[index_of(order_.find(a))] = std::move(joined);
  return Refusal::kNone;
}

/// Whether two groups together stay within bounds.
Refusal FusionGroups::measure(ValueId a, ValueId b) {
  const auto is_inside = [&](ValueId id) {
    const ValueId of = group_of(id);
    return of == a || of == b;
  };
  std::size_t nodes = 0;
  std::size_t results = 0;
  std::vector<ValueId> operands;
  for (const ValueId of : {a, b}) {
    nodes += group(of).members.size();
    for (const ValueId member : group(of).members) {
      if (links_.is_output(member) || !std::ranges::all_of(links_.readers(member), is_inside))
        ++results;
      for (const FusionRead& read : links_.reads(member))
        if (!is_inside(read.source)) operands.push_back(read.source);
    }
  }
  std::ranges::sort(operands);
  const auto repeated = std::ranges::unique(operands);
  operands.erase(repeated.begin(), repeated.end());
  if (nodes > kMaxGroupNodes) return Refusal::kNodes;
  if (operands.size() > kMaxGroupOperands) return Refusal::kOperands;
  return results > kMaxGroupResults ? Refusal::kResults : Refusal::kNone;
}

Refusal FusionGroups::refusal(FusionRead read, ValueId reader) {
  if (read.link == Link::kMemory || !links_.is_fusible(reader)) return Refusal::kMemory;
  const ValueId a = group_of(read.source);
  const ValueId b = group_of(reader);
  return a == b ? Refusal::kNone : join(a, b);
}

namespace {

/// The cost of computing a value again.
struct Recomputation {
  double flops = 0;
  std::vector<ValueId> sources;  ///< full-sized values that are read from memory

  void read(ValueId id) {
    if (std::find(sources.begin(), sources.end(), id) == sources.end()) sources.push_back(id);
  }
};

bool pays(const Graph& graph, const Recomputation& recomputation, const Type& result) {
  const auto& sources = recomputation.sources;
  if (recomputation.flops > kMaxRecomputedFlops) return false;
  const bool all_inputs = std::all_of(sources.begin(), sources.end(),
                                      [&](ValueId id) { return graph[id].op == Op::kInput; });
  if (all_inputs && sources.size() <= kMaxRecomputedInputs) return true;
  std::size_t bytes = 0;
  for (const ValueId source : sources) bytes += graph[source].type.bytes();
  return sources.size() <= 1 || bytes <= result.bytes();
}

/// Decides which values to compute again, given a first grouping.
class RecomputationFinder {
 public:
  RecomputationFinder(const Graph& graph, FusionGroups& groups, std::vector<bool> cloned)
      : graph_(graph),
        groups_(groups),
        cloned_(std::move(cloned)),
        known_(graph.nodes.size()),
        recomputed_(graph.nodes.size(), false) {}

  /// The cloned values plus those that are worth computing again.
  std::vector<bool> run() {
    for (ValueId id = 0; id < graph_.size(); ++id)
      if (groups_.links().kind(id) == FusionKind::kElementwise) visit(id);
    // Values that only a recomputed value uses are recomputed with it.
    for (ValueId id = graph_.size() - 1; id >= 0; --id) {
      if (!recomputed_[index_of(id)]) continue;
      cloned_[index_of(id)] = true;
      for (const ValueId operand : graph_[id].operands)
        if (!cloned_[index_of(operand)] && is_within_group(operand))
          recomputed_[index_of(operand)] = true;
    }
    return std::move(cloned_);
  }

 private:
  /// Elementwise and never in memory.
  bool is_within_group(ValueId id) {
    return groups_.links().kind(id) == FusionKind::kElementwise && !groups_.is_result(id);
  }

  void visit(ValueId id) {
    const Node& node = graph_[id];
    Recomputation& own = known_[index_of(id)];
    own.flops = info_of(node.op).flops_per_element;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId operand = node.operands[i];
      if (node.op == Op::kSlice) own.read(operand);
      if (is_scalar_constant(graph_[operand]) || reads_other_shape(graph_, node, i)) continue;
      if (cloned_[index_of(operand)] || recomputed_[index_of(operand)] ||
          is_within_group(operand)) {
        own.flops += known_[index_of(operand)].flops;
        // Long chains are of no interest, and their sources could be many.
        if (own.flops > kMaxRecomputedFlops) break;
        for (const ValueId source : known_[index_of(operand)].sources) own.read(source);
      } else {
        own.read(operand);
      }
    }
    recomputed_[index_of(id)] =
        !cloned_[index_of(id)] && is_shared(id) && pays(graph_, own, node.type);
  }

  /// Whether several groups read the value, and all of them element by element of their domain.
  bool is_shared(ValueId id) {
    if (!groups_.is_result(id) || groups_.links().is_output(id)) return false;
    if (groups_.group(groups_.group_of(id)).domain != graph_[id].type.shape) return false;
    ValueId first = kNoValue;
    bool several = false;
    for (const ValueId reader : groups_.links().readers(id)) {
      const auto& reads = groups_.links().reads(reader);
      if (std::ranges::find(reads, FusionRead{id, Link::kDirect}) == reads.end() ||
          std::ranges::any_of(reads, [&](const FusionRead& read) {
            return read.source == id && read.link != Link::kDirect;
          }))
        return false;
      const ValueId group = groups_.group_of(reader);
      several = several || (first != kNoValue && group != first);
      first = group;
    }
    return several;
  }

  const Graph& graph_;
  FusionGroups& groups_;
  std::vector<bool> cloned_;
  std::vector<Recomputation> known_;
  std::vector<bool> recomputed_;
};

}  // namespace

FusionGroups make_fusion_groups(const Graph& graph) {
  std::vector<bool> cheap = find_cheap(graph);
  FusionGroups first(graph, cheap);
  return FusionGroups(graph, RecomputationFinder(graph, first, std::move(cheap)).run());
}

}  // namespace lockstep
