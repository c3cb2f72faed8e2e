// How passes make the next graph: a walk over the old one in order, in which local rules may
// replace each node. A rule sees a node whose operands are already rewritten, so that one walk
// reaches the fixed point of all rules.
#pragma once

#include <span>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

/// A copy under construction: where each old value lives in the new graph.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from);

  Graph& out() { return out_; }
  ValueId now(ValueId old) const { return now_[static_cast<std::size_t>(old)]; }
  void set(ValueId old, ValueId now) { now_[static_cast<std::size_t>(old)] = now; }
  /// The old node with new operands.
  Node moved(ValueId old) const;
  ValueId copy(ValueId old);
  /// Adds inputs in parameter order, outputs and updates, and returns the graph.
  Graph finish();

 private:
  const Graph& from_;
  Graph out_;
  std::vector<ValueId> now_;
};

class Builder;
/// Returns a value equal to `node` (whose operands are values of the builder), or kNoValue if the
/// rule does not apply. `node` is not yet part of the graph.
using Rule = ValueId (*)(Builder& builder, const Node& node);

/// The builder that rules use: every node that is emitted passes through the rules itself.
class Builder {
 public:
  Builder(Graph& graph, std::span<const Rule> rules) : graph_(graph), rules_(rules) {}

  /// Valid until the next emit.
  const Node& operator[](ValueId id) const { return graph_[id]; }
  const Type& type(ValueId id) const { return graph_[id].type; }
  ValueId emit(Node node);
  ValueId emit(Op op, ArrayRef<ValueId> operands, Attrs attrs, const Origin& origin);
  ValueId emit_constant(HostTensor literal, const Origin& origin);
  /// broadcast(scalar) to `shape`; the scalar itself for rank 0.
  ValueId emit_splat(ValueId scalar, const Shape& shape, const Origin& origin);

 private:
  Graph& graph_;
  std::span<const Rule> rules_;
};

/// Applies the rules everywhere and drops nodes that became dead. Inputs, outputs and updates stay.
Graph apply_rules(const Graph& from, std::span<const Rule> rules);

/// The rank-0 constant that fills `id` (a scalar constant or a broadcast of one), or kNoValue.
ValueId splat_source(const Builder& builder, ValueId id);

}  // namespace lockstep
