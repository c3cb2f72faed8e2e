#include "core/passes/cse.h"

#include <unordered_map>
#include <utility>

#include "core/ir/structure.h"
#include "core/passes/rewrite.h"

namespace lockstep {

Graph cse(Graph graph, const Target& target) {
  (void)target;
  Rewriter rewriter(graph);
  std::unordered_multimap<Hash128, ValueId, Hash128Hasher> known;
  known.reserve(graph.nodes.size());
  for (ValueId id = 0; id < graph.size(); ++id) {
    Node node = rewriter.moved(id);
    if (node.op == Op::kInput || node.op == Op::kOptimizationBarrier) {
      rewriter.set(id, rewriter.out().append(std::move(node)));
      continue;
    }
    const Hash128 hash = computation_hash(node);
    const auto [first, last] = known.equal_range(hash);
    auto found = first;
    while (found != last && !same_computation(rewriter.out()[found->second], node)) ++found;
    if (found != last) {
      rewriter.set(id, found->second);
      continue;
    }
    rewriter.set(id, rewriter.out().append(std::move(node)));
    known.emplace(hash, rewriter.now(id));
  }
  return rewriter.finish();
}

}  // namespace lockstep
