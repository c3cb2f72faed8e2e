#include "core/explain/alignment.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/explain/literals.h"
#include "core/explain/op_groups.h"

namespace lockstep {
namespace {

using Labels = std::span<const std::uint64_t>;

/// Maximum cells of a table of common subsequences: beyond it, the next node of a label is taken.
constexpr std::size_t kTableCells = 4'000'000;

/// Whether it tells ops of one line apart: a dot and its gradients by what they contract.
bool tells_apart(Attr attr) {
  return attr == Attr::kDims || attr == Attr::kAxis || attr == Attr::kLhsBatch ||
         attr == Attr::kRhsBatch || attr == Attr::kLhsContract || attr == Attr::kRhsContract;
}

/// With the names of inputs that an op takes: a loop over parameters records the same for each.
std::vector<std::uint64_t> with_names(const GraphDescriptor& graph,
                                      const std::vector<std::uint64_t>& exact) {
  std::vector<std::uint64_t> out = exact;
  for (ValueId id = 0; id < graph.size(); ++id)
    for (const ValueId operand : graph.operands(id))
      if (graph.is_input(operand) && !graph.input(operand).name.empty())
        out[index_of(id)] = hash64({out[index_of(id)], graph.labels()[index_of(operand)]});
  return out;
}

/// Which named labels each label has, sorted.
using NamesOfLabels = std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>;

NamesOfLabels names_of(const std::vector<std::uint64_t>& exact,
                       const std::vector<std::uint64_t>& named) {
  NamesOfLabels out;
  for (std::size_t i = 0; i < exact.size(); ++i) out[exact[i]].push_back(named[i]);
  for (auto& [label, names] : out) std::ranges::sort(names);
  return out;
}

/// Without names where as many ops take other inputs than in the other graph: these have others'
/// roles, and the ops are the same.
std::vector<std::uint64_t> named_labels(const std::vector<std::uint64_t>& exact,
                                        std::vector<std::uint64_t> named, const NamesOfLabels& own,
                                        const NamesOfLabels& others) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto other = others.find(exact[i]);
    const std::vector<std::uint64_t>& names = own.at(exact[i]);
    if (other != others.end() && other->second.size() == names.size() && other->second != names)
      named[i] = exact[i];
  }
  return named;
}

/// With what is mostly the same: those dimensions, and numbers, of which a line has several.
std::vector<std::uint64_t> exact_labels(const GraphDescriptor& graph) {
  std::vector<std::uint64_t> out(graph.labels().begin(), graph.labels().end());
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kConstant) out[index_of(id)] ^= graph.literal(id).digest.low;
    for (const Attrs::Entry& entry : graph.attrs(id)) {
      if (!tells_apart(entry.attr)) continue;
      std::uint64_t& label = out[index_of(id)];
      label = hash64({label, static_cast<std::uint64_t>(entry.attr)});
      for (const std::int64_t value : entry.values)
        label = hash64({label, static_cast<std::uint64_t>(value)});
    }
  }
  return out;
}

/// With what the operands are made of, whatever the numbers among them.
std::vector<std::uint64_t> deep_labels(const GraphDescriptor& graph) {
  std::vector<std::uint64_t> out(graph.labels().begin(), graph.labels().end());
  for (ValueId id = 0; id < graph.size(); ++id) {
    std::uint64_t& label = out[index_of(id)];
    for (const ValueId operand : graph.operands(id)) {
      const bool number = constant_of(graph, operand) != kNoValue;
      label = hash64({label, number ? 0 : out[index_of(operand)]});
    }
  }
  return out;
}

/// Positions of a longest increasing subsequence.
std::vector<std::size_t> longest_increasing(const std::vector<ValueId>& values) {
  std::vector<std::size_t> tails;
  std::vector<std::size_t> previous(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto tail = std::ranges::lower_bound(
        tails, values[i], {}, [&](std::size_t position) { return values[position]; });
    previous[i] = tail == tails.begin() ? i : *(tail - 1);
    if (tail == tails.end()) {
      tails.push_back(i);
    } else {
      *tail = i;
    }
  }
  std::vector<std::size_t> out(tails.size());
  for (std::size_t k = tails.size(), i = tails.empty() ? 0 : tails.back(); k-- > 0; i = previous[i])
    out[k] = i;
  return out;
}

/// A part of both graphs.
struct Range {
  ValueId old_begin, old_end;
  ValueId new_begin, new_end;
};

class Aligner {
 public:
  Aligner(const GraphDescriptor& old, const GraphDescriptor& now)
      : old_(old),
        now_(now),
        out_(old, now),
        old_exact_(exact_labels(old)),
        new_exact_(exact_labels(now)),
        old_deep_(deep_labels(old)),
        new_deep_(deep_labels(now)) {
    const std::vector<std::uint64_t> old_named = with_names(old, old_exact_);
    const std::vector<std::uint64_t> new_named = with_names(now, new_exact_);
    const NamesOfLabels before = names_of(old_exact_, old_named);
    const NamesOfLabels after = names_of(new_exact_, new_named);
    old_labels_ = named_labels(old_exact_, old_named, before, after);
    new_labels_ = named_labels(new_exact_, new_named, after, before);
  }

  Alignment run() {
    align_in_order();
    match_equal_computations();
    match_numbers();
    match_labels();
    match_equal_computations();
    match_numbers();
    match_unnamed_inputs();
    mark_moved();
    return std::move(out_);
  }

 private:
  void align_in_order() {
    std::vector<Range> open{{0, old_.size(), 0, now_.size()}};
    while (!open.empty()) {
      Range range = open.back();
      open.pop_back();
      trim(range);
      if (range.old_begin == range.old_end || range.new_begin == range.new_end) continue;
      const std::vector<std::pair<ValueId, ValueId>> anchors = find_anchors(range);
      if (anchors.empty()) {
        align_subsequence(range);
        continue;
      }
      Range before = range;
      for (const auto& [old, now] : anchors) {
        out_.match(old, now);
        before.old_end = old;
        before.new_end = now;
        open.push_back(before);
        before.old_begin = old + 1;
        before.new_begin = now + 1;
      }
      before.old_end = range.old_end;
      before.new_end = range.new_end;
      open.push_back(before);
    }
  }

  void trim(Range& range) {
    while (range.old_begin < range.old_end && range.new_begin < range.new_end &&
           old_labels_[index_of(range.old_begin)] == new_labels_[index_of(range.new_begin)])
      out_.match(range.old_begin++, range.new_begin++);
    while (range.old_begin < range.old_end && range.new_begin < range.new_end &&
           old_labels_[index_of(range.old_end - 1)] == new_labels_[index_of(range.new_end - 1)])
      out_.match(--range.old_end, --range.new_end);
  }

  /// Nodes whose labels are unique in both parts, as many as are in order. No numbers, which stand
  /// where they are first used: one that is used again after its change has another place.
  std::vector<std::pair<ValueId, ValueId>> find_anchors(const Range& range) const {
    struct Seen {
      int old = 0;
      int now = 0;
      ValueId place = kNoValue;  ///< among the old
    };
    std::unordered_map<std::uint64_t, Seen> seen;
    for (ValueId id = range.old_begin; id < range.old_end; ++id) {
      Seen& label = seen[old_labels_[index_of(id)]];
      ++label.old;
      label.place = id;
    }
    for (ValueId id = range.new_begin; id < range.new_end; ++id)
      ++seen[new_labels_[index_of(id)]].now;
    std::vector<ValueId> olds;
    std::vector<ValueId> news;
    for (ValueId id = range.new_begin; id < range.new_end; ++id) {
      const Seen& label = seen[new_labels_[index_of(id)]];
      if (label.old != 1 || label.now != 1 || now_[id].op == Op::kConstant) continue;
      olds.push_back(label.place);
      news.push_back(id);
    }
    std::vector<std::pair<ValueId, ValueId>> out;
    for (const std::size_t i : longest_increasing(olds)) out.emplace_back(olds[i], news[i]);
    drop_those_that_moved(range, out);
    return out;
  }

  /// Drops anchors that moved among trips of a loop: they would part more ops that correspond than
  /// there are of them.
  void drop_those_that_moved(const Range& range,
                             std::vector<std::pair<ValueId, ValueId>>& anchors) const {
    const std::vector<std::size_t> parted = parted_by(range, anchors);
    std::vector<std::pair<ValueId, ValueId>> kept;
    for (std::size_t begin = 0, end = 0; begin < anchors.size(); begin = end) {
      std::size_t most = 0;  // of anchors in a row that all part ops, or none
      for (end = begin; end < anchors.size() && (parted[end] > 0) == (parted[begin] > 0); ++end)
        most = std::max(most, parted[end]);
      if (most <= end - begin)
        std::copy_n(anchors.begin() + static_cast<std::ptrdiff_t>(begin), end - begin,
                    std::back_inserter(kept));
    }
    anchors = std::move(kept);
  }

  /// How many ops of equal labels each anchor puts apart: one graph has them before it, the other
  /// behind it.
  std::vector<std::size_t> parted_by(
      const Range& range, const std::vector<std::pair<ValueId, ValueId>>& anchors) const {
    struct Count {
      std::size_t old = 0, now = 0;
    };
    struct Label {
      Count all, before;
      std::size_t parted() const {
        return std::min(all.old, all.now) - std::min(before.old, before.now) -
               std::min(all.old - before.old, all.now - before.now);
      }
    };
    std::unordered_map<std::uint64_t, Label> labels;
    for (ValueId id = range.old_begin; id < range.old_end; ++id)
      ++labels[old_labels_[index_of(id)]].all.old;
    for (ValueId id = range.new_begin; id < range.new_end; ++id)
      ++labels[new_labels_[index_of(id)]].all.now;
    std::size_t parted = 0;
    const auto pass = [&](const GraphDescriptor& graph, const std::vector<std::uint64_t>& of,
                          ValueId id, std::size_t Count::*count) {
      Label& label = labels.at(of[index_of(id)]);
      const bool repeats = label.all.old > 1 && label.all.now > 1;
      if (!repeats || is_leaf(graph, id)) return;
      parted -= label.parted();
      ++(label.before.*count);
      parted += label.parted();
    };
    std::vector<std::size_t> out;
    ValueId old = range.old_begin, now = range.new_begin;
    for (const auto& [old_anchor, new_anchor] : anchors) {
      for (; old < old_anchor; ++old) pass(old_, old_labels_, old, &Count::old);
      for (; now < new_anchor; ++now) pass(now_, new_labels_, now, &Count::now);
      out.push_back(parted);
    }
    return out;
  }

  void align_subsequence(const Range& range) {
    const auto rows = static_cast<std::size_t>(range.old_end - range.old_begin);
    const auto columns = static_cast<std::size_t>(range.new_end - range.new_begin);
    if (rows * columns > kTableCells) {
      take_next(range);
      return;
    }
    const Labels a = Labels(old_labels_).subspan(index_of(range.old_begin), rows);
    const Labels b = Labels(new_labels_).subspan(index_of(range.new_begin), columns);
    // Of the longest common subsequences that with the most nodes that are made of the same.
    constexpr std::uint32_t kNode = 4096;
    static_assert(std::size_t{kNode} * kNode > kTableCells, "more than there may be in one");
    const auto worth = [&](std::size_t i, std::size_t j) {
      const bool same =
          old_deep_[index_of(range.old_begin) + i] == new_deep_[index_of(range.new_begin) + j];
      return kNode + (same ? 1U : 0U);
    };
    // worths[i][j]: of the best subsequence of what follows i and j.
    const std::size_t width = columns + 1;
    std::vector<std::uint32_t> worths((rows + 1) * width, 0);
    for (std::size_t i = rows; i-- > 0;)
      for (std::size_t j = columns; j-- > 0;) {
        std::uint32_t& best = worths[i * width + j];
        best = std::max(worths[(i + 1) * width + j], worths[i * width + j + 1]);
        if (a[i] == b[j]) best = std::max(best, worths[(i + 1) * width + j + 1] + worth(i, j));
      }
    for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
      const std::uint32_t best = worths[i * width + j];
      if (a[i] == b[j] && best == worths[(i + 1) * width + j + 1] + worth(i, j)) {
        out_.match(range.old_begin + static_cast<ValueId>(i++),
                   range.new_begin + static_cast<ValueId>(j++));
      } else {
        worths[(i + 1) * width + j] >= worths[i * width + j + 1] ? ++i : ++j;
      }
    }
  }

  /// Each new node with the next old one of its label.
  void take_next(const Range& range) {
    std::unordered_map<std::uint64_t, std::vector<ValueId>> places;
    for (ValueId id = range.old_end; id-- > range.old_begin;)
      places[old_labels_[index_of(id)]].push_back(id);
    ValueId next = range.old_begin;
    for (ValueId id = range.new_begin; id < range.new_end; ++id) {
      const auto found = places.find(new_labels_[index_of(id)]);
      if (found == places.end()) continue;
      std::vector<ValueId>& left = found->second;
      while (!left.empty() && left.back() < next) left.pop_back();
      if (left.empty()) continue;
      out_.match(left.back(), id);
      next = left.back() + 1;
    }
  }

  /// The same op on what stands for the same operands, whatever the numbers among them: the same
  /// work on another line, or in another place. Nodes without operands match by scope and type;
  /// inputs by name.
  void match_equal_computations() {
    std::unordered_map<std::string, std::vector<ValueId>> left;
    for (ValueId id = old_.size(); id-- > 0;)
      if (out_.to_new[index_of(id)] == kNoValue && !is_number(old_, id))
        left[key_of(old_, id, nullptr)].push_back(id);
    for (ValueId id = 0; id < now_.size(); ++id) {
      if (out_.to_old[index_of(id)] != kNoValue || is_number(now_, id)) continue;
      const auto found = left.find(key_of(now_, id, &out_.to_old));
      if (found == left.end() || found->second.empty()) continue;
      out_.match(found->second.back(), id);
      found->second.pop_back();
    }
  }

  /// A constant, or one that is repeated.
  static bool is_number(const GraphDescriptor& graph, ValueId id) {
    while (graph[id].op == Op::kBroadcast) id = graph.operands(id)[0];
    return graph[id].op == Op::kConstant;
  }

  static std::string key_of(const GraphDescriptor& graph, ValueId id,
                            const std::vector<ValueId>* to_old) {
    const GraphDescriptor::Node& node = graph[id];
    std::string out = fmt::format("{} {} ", node.op.number(), node.argument);
    if (graph.is_input(id)) return out + graph.input(id).name;
    if (node.operands == 0) return out + graph.scope(id) + graph.type(id);
    bool takes_numbers = true;  // and nothing else, which would tell what it computes
    for (const ValueId operand : graph.operands(id)) {
      takes_numbers = takes_numbers && is_number(graph, operand);
      const ValueId old = to_old == nullptr ? operand : (*to_old)[index_of(operand)];
      if (is_number(graph, operand)) {
        out += "number ";
      } else if (old == kNoValue) {
        return fmt::format("new {}", id);
      } else {
        out += fmt::format("{} ", old);
      }
    }
    return takes_numbers ? out + graph.place(id) : out;
  }

  /// Those that are left, by the ops that take them.
  void match_numbers() {
    for (ValueId id = now_.size(); id-- > 0;) {
      const ValueId old = out_.to_old[index_of(id)];
      if (old == kNoValue || now_[id].operands != old_[old].operands) continue;
      for (std::size_t i = 0; i < now_[id].operands; ++i) {
        const ValueId theirs = old_.operands(old)[i];
        const ValueId ours = now_.operands(id)[i];
        if (out_.to_old[index_of(ours)] == kNoValue && out_.to_new[index_of(theirs)] == kNoValue &&
            now_[ours].op == old_[theirs].op && is_number(now_, ours) && is_number(old_, theirs))
          out_.match(theirs, ours);
      }
    }
  }

  /// Inputs without a name were matched in their order. The ops that take them tell better.
  void match_unnamed_inputs() {
    const auto is_unnamed = [](const GraphDescriptor& graph, ValueId id) {
      return graph.is_input(id) && graph.input(id).name.empty();
    };
    std::vector<bool> alike(index_of(now_.size()), false);
    const auto for_taken = [&](auto what) {
      for (ValueId id = 0; id < now_.size(); ++id) {
        const ValueId old = out_.to_old[index_of(id)];
        if (old == kNoValue) continue;
        const std::size_t operands = std::min(now_[id].operands, old_[old].operands);
        for (std::size_t i = 0; i < operands; ++i)
          if (is_unnamed(now_, now_.operands(id)[i]) && is_unnamed(old_, old_.operands(old)[i]))
            what(old_.operands(old)[i], now_.operands(id)[i]);
      }
    };
    for_taken([&](ValueId old, ValueId now) {
      alike[index_of(now)] = alike[index_of(now)] || out_.to_old[index_of(now)] == old;
    });
    for (const ValueId id : now_.inputs()) {
      const ValueId old = out_.to_old[index_of(id)];
      if (!is_unnamed(now_, id) || old == kNoValue || alike[index_of(id)] ||
          now_.same_type(id, old_, old))
        continue;
      out_.to_old[index_of(id)] = out_.to_new[index_of(old)] = kNoValue;
    }
    for_taken([&](ValueId old, ValueId now) {
      if (out_.to_old[index_of(now)] == kNoValue && out_.to_new[index_of(old)] == kNoValue)
        out_.match(old, now);
    });
  }

  void match_labels() {
    // A dot of other dimensions is another gradient.
    const auto label = [](const GraphDescriptor& graph, ValueId id, Labels exact) {
      const bool dot = info_of(graph[id].op).op_class == OpClass::kContraction;
      return dot ? exact[index_of(id)] : graph.labels()[index_of(id)];
    };
    std::unordered_map<std::uint64_t, std::vector<ValueId>> left;
    for (ValueId id = old_.size(); id-- > 0;)
      if (out_.to_new[index_of(id)] == kNoValue) left[label(old_, id, old_exact_)].push_back(id);
    for (ValueId id = 0; id < now_.size(); ++id) {
      const auto found = left.find(label(now_, id, new_exact_));
      if (out_.to_old[index_of(id)] != kNoValue || found == left.end() || found->second.empty())
        continue;
      out_.match(found->second.back(), id);
      found->second.pop_back();
    }
  }

  /// First of all nodes, then of the ops: inputs and numbers stand where they are first used.
  void mark_moved() {
    mark_moved([](ValueId) { return true; });
    mark_moved([&](ValueId id) { return !is_leaf(now_, id); });
  }

  void mark_moved(auto which) {
    std::vector<ValueId> olds;
    std::vector<ValueId> news;
    for (ValueId id = 0; id < now_.size(); ++id) {
      if (out_.to_old[index_of(id)] == kNoValue || !which(id)) continue;
      olds.push_back(out_.to_old[index_of(id)]);
      news.push_back(id);
    }
    for (const ValueId id : news) out_.moved[index_of(id)] = true;
    for (const std::size_t i : longest_increasing(olds)) out_.moved[index_of(news[i])] = false;
  }

  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  Alignment out_;
  std::vector<std::uint64_t> old_exact_;
  std::vector<std::uint64_t> new_exact_;
  std::vector<std::uint64_t> old_deep_;
  std::vector<std::uint64_t> new_deep_;
  std::vector<std::uint64_t> old_labels_;  ///< named
  std::vector<std::uint64_t> new_labels_;
};

}  // namespace

Alignment align(const GraphDescriptor& old, const GraphDescriptor& now) {
  return Aligner(old, now).run();
}

Alignment align_equal(const GraphDescriptor& now) {
  const auto count = static_cast<std::size_t>(now.size());
  Alignment out;
  out.to_old.resize(count);
  std::iota(out.to_old.begin(), out.to_old.end(), 0);
  out.to_new = out.to_old;
  out.moved.assign(count, false);
  return out;
}

}  // namespace lockstep
