#include "core/explain/exchanged.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/hash.h"

namespace lockstep {
namespace {

std::uint64_t hash_text(const std::string& text) {
  return hash128(text.data(), text.size()).low;
}

/// Hashes of what each node computes.
class OrderlessHashes {
 public:
  explicit OrderlessHashes(const GraphDescriptor& graph) : graph_(graph) {
    std::size_t unnamed = 0;
    for (ValueId id = 0; id < graph.size(); ++id) {
      if (graph.is_input(id)) {
        const std::string& name = graph.input(id).name;
        hashes_.push_back(name.empty() ? hash64({++unnamed}) : hash_text(name));
      } else {
        hashes_.push_back(hash_op(id));
      }
    }
  }

  /// Of all outputs.
  std::vector<std::uint64_t> outputs() const {
    std::vector<std::uint64_t> out;
    for (const ValueId id : graph_.outputs()) out.push_back(hashes_[index_of(id)]);
    std::ranges::sort(out);
    return out;
  }

 private:
  std::uint64_t hash_op(ValueId id) const {
    std::vector<std::uint64_t> terms;
    add_terms(id, id, terms);
    if (info_of(graph_[id].op).commutative) std::ranges::sort(terms);
    std::uint64_t out = hash64({static_cast<std::uint64_t>(graph_[id].op.number()),
                                hash_text(graph_.line(id)), hash_text(graph_.scope(id))});
    for (const std::uint64_t term : terms) out = hash64({out, term});
    return out;
  }

  /// The operands of `of`; of one that a line's loop sums up, all terms.
  void add_terms(ValueId of, ValueId sum, std::vector<std::uint64_t>& terms) const {
    for (const ValueId operand : graph_.operands(of)) {
      const bool continues = info_of(graph_[sum].op).commutative &&
                             graph_[operand].op == graph_[sum].op &&
                             graph_[operand].origin == graph_[sum].origin;
      if (continues) {
        add_terms(operand, sum, terms);
      } else {
        terms.push_back(hashes_[index_of(operand)]);
      }
    }
  }

  const GraphDescriptor& graph_;
  std::vector<std::uint64_t> hashes_;
};

/// All nodes but the inputs, in their order.
std::vector<ValueId> ops_of(const GraphDescriptor& graph) {
  std::vector<ValueId> out;
  for (ValueId id = 0; id < graph.size(); ++id)
    if (!graph.is_input(id)) out.push_back(id);
  return out;
}

class PlaceAligner {
 public:
  PlaceAligner(const GraphDescriptor& old, const GraphDescriptor& now)
      : old_(old), now_(now), out_(old, now) {}

  std::optional<Alignment> run() {
    if (!match_inputs()) return std::nullopt;
    const std::vector<ValueId> before = ops_of(old_);
    const std::vector<ValueId> ops = ops_of(now_);
    if (before.size() != ops.size()) return std::nullopt;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!are_alike(before[i], ops[i])) return std::nullopt;
      out_.match(before[i], ops[i]);
    }
    return std::move(out_);
  }

 private:
  bool match_inputs() {
    std::map<std::string, std::vector<ValueId>> left;
    for (const ValueId id : old_.inputs()) left[old_.input(id).name].push_back(id);
    for (auto& [name, ids] : left) std::ranges::reverse(ids);
    for (const ValueId id : now_.inputs()) {
      const auto found = left.find(now_.input(id).name);
      if (found == left.end() || found->second.empty()) return false;
      out_.match(found->second.back(), id);
      found->second.pop_back();
    }
    return old_.inputs().size() == now_.inputs().size();
  }

  bool are_alike(ValueId old, ValueId now) const {
    return old_[old].op == now_[now].op && old_[old].argument == now_[now].argument &&
           old_.line(old) == now_.line(now) && old_.scope(old) == now_.scope(now) &&
           old_[old].operands == now_[now].operands;
  }

  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  Alignment out_;
};

}  // namespace

bool are_equal_but_for_order(const GraphDescriptor& a, const GraphDescriptor& b) {
  return a.size() == b.size() && OrderlessHashes(a).outputs() == OrderlessHashes(b).outputs();
}

std::optional<Alignment> align_in_place(const GraphDescriptor& old, const GraphDescriptor& now) {
  if (old.size() != now.size()) return std::nullopt;
  return PlaceAligner(old, now).run();
}

}  // namespace lockstep
