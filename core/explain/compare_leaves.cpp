#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/explain/attribute_rules.h"
#include "core/explain/changed_ops.h"
#include "core/explain/differences.h"
#include "core/explain/literals.h"
#include "core/explain/mode_change.h"
#include "core/explain/op_groups.h"
#include "core/explain/operand_changes.h"
#include "core/explain/recorded_ops.h"
#include "core/explain/remedies.h"
#include "core/explain/taken_numbers.h"
#include "core/ir/literal_text.h"
#include "core/ir/text.h"

namespace lockstep {
namespace {

class LeafComparison {
 public:
  LeafComparison(const Comparison& graphs, const RecordedOps& recorded, const ModeChange& mode)
      : graphs_(graphs),
        old_(graphs.old),
        now_(graphs.now),
        mode_(mode),
        recorded_(recorded),
        changed_ops_(graphs) {
    const bool none_came = note_unmatched(now_, graphs.alignment.to_old);
    const bool none_went = note_unmatched(old_, graphs.alignment.to_new);
    same_ops_ = none_came && none_went;
  }

  std::vector<Difference> run() {
    out_ = compare_inputs(graphs_, sizes_);
    find_sized();
    const std::set<Replaced> replaced = find_replaced();
    for (auto [id, next] = std::pair(ValueId{0}, replaced.begin()); id < now_.size(); ++id) {
      for (; next != replaced.end() && next->first == id; ++next)
        sizes_.add(old_.sizes(next->second), now_.sizes(id));
      if (old_of(id) != kNoValue && now_[id].op != Op::kInput) compare_attrs(id);
    }
    for (ValueId id = 0; id < now_.size(); ++id)
      if (sized_[index_of(id)]) add_mean(id);
    for (ValueId id = 0; id < now_.size(); ++id)
      if (old_of(id) != kNoValue && now_[id].op == Op::kConstant) compare_constant(id);
    OperandChanges operands(graphs_, {same_ops_, disturbed_lines()}, out_);
    for (ValueId id = 0; id < now_.size(); ++id)
      if (old_of(id) != kNoValue) compare_operands(id, operands);
    mark_repeated();
    tell_order_of_numbers();
    operands.settle();
    return std::move(out_);
  }

 private:
  /// Values that ops took in place of others.
  struct ToldNumber {
    std::size_t difference;
    NumberPair number;
  };

  /// Which places have ops of their own in one of the graphs. Whether it has none, gradients apart.
  bool note_unmatched(const GraphDescriptor& graph, const std::vector<ValueId>& to_other) {
    bool none = true;
    for (ValueId id = 0; id < graph.size(); ++id) {
      if (to_other[index_of(id)] != kNoValue || graph[id].gradient) continue;
      none = false;
      if (!is_leaf(graph, id)) changed_places_.emplace(graph.line(id), graph.scope(id));
    }
    return none;
  }

  /// Lines that recorded other ops, or in another order.
  std::set<std::string> disturbed_lines() const {
    std::set<std::string> out;
    for (const AttributeRules::Place& place : changed_places_) out.insert(place.first);
    for (ValueId id = 0; id < now_.size(); ++id)
      if (graphs_.alignment.moved[index_of(id)] && !is_leaf(now_, id) && !now_[id].gradient)
        out.insert(now_.line(id));
    return out;
  }

  ValueId old_of(ValueId id) const { return graphs_.alignment.to_old[index_of(id)]; }
  bool operand_changed(ValueId id, auto changed) const {
    return std::ranges::any_of(now_.operands(id), changed);
  }
  Difference& add(Cause cause, ValueId id, std::string subject, std::string from, std::string to) {
    out_.push_back({.cause = cause,
                    .subject = std::move(subject),
                    .from = std::move(from),
                    .to = std::move(to),
                    .line = now_.line(id),
                    .scope = now_.scope(id),
                    .gradient = now_[id].gradient});
    return out_.back();
  }

  // What follows from them.

  /// What is computed from inputs, or from positions, that have another size, or was cut to one.
  void find_sized() {
    sized_.assign(index_of(now_.size()), false);
    std::vector<bool> by_input = sized_;
    for (ValueId id = 0; id < now_.size(); ++id) {
      const ValueId old = old_of(id);
      const bool resized = old != kNoValue && !std::ranges::equal(now_.sizes(id), old_.sizes(old));
      const auto takes = [&](const std::vector<bool>& of) {
        return operand_changed(id, [&](ValueId operand) { return of[index_of(operand)]; });
      };
      by_input[index_of(id)] = (now_.is_input(id) && resized) || takes(by_input);
      const bool cut = resized && (now_[id].op == Op::kIota || now_[id].op == Op::kSlice);
      sized_[index_of(id)] = by_input[index_of(id)] || cut || takes(sized_);
      if (by_input[index_of(id)]) add_mean(id);
    }
  }

  /// Of how many elements a mean is, its number follows from.
  void add_mean(ValueId id) {
    const ValueId old = old_of(id);
    if (old == kNoValue || info_of(now_[id].op).op_class != OpClass::kReduction) return;
    sizes_.add(reduced(old_, old, find_attr(old_, old, Attr::kDims)),
               reduced(now_, id, find_attr(now_, id, Attr::kDims)));
  }

  /// Whether the number, or what repeats it, is taken with something of these.
  bool is_taken_by_sized(ValueId number) const {
    for (ValueId id = number + 1; id < now_.size(); ++id)
      if (sized_[index_of(id)] && operand_changed(id, [&](ValueId operand) {
            return constant_of(now_, operand) == number;
          }))
        return true;
    return false;
  }

  /// Whether a number may be some function of a size; a table may be any.
  bool may_follow(const GraphDescriptor::Literal& before, const GraphDescriptor::Literal& literal,
                  DType dtype) const {
    return literal.values.size() != 1 || before.values.size() != 1 ||
           sizes_.may_explain_number(before.values[0], literal.values[0], dtype);
  }

  /// Whether two constants of different dtypes are equal, rounded to one of the dtypes.
  bool have_equal_values(ValueId old, ValueId now) const {
    return are_equal_but_for_dtype(old_.literal(old), old_[old].dtype, now_.literal(now),
                                   now_[now].dtype);
  }

  /// Whether no person wrote the numbers, but a formula of a size gives them.
  bool is_computed(const GraphDescriptor::Literal& before, const GraphDescriptor::Literal& literal,
                   DType dtype) const {
    return literal.values.size() == 1 && before.values.size() == 1 &&
           !(is_plain(before.values[0]) && is_plain(literal.values[0])) &&
           sizes_.gives_number(before.values[0], literal.values[0], dtype);
  }

  /// A result, or an input, of the new graph, and what an op of both graphs took in its place.
  using Replaced = std::pair<ValueId, ValueId>;

  /// In their order: the sizes of what is recorded after one may follow from it, but of nothing
  /// before.
  std::set<Replaced> find_replaced() const {
    std::set<Replaced> out;
    for (ValueId id = 0; id < now_.size(); ++id) {
      if (old_of(id) == kNoValue) continue;
      const auto before = old_.operands(old_of(id));
      const auto operands = now_.operands(id);
      for (std::size_t i = 0; i < std::min(before.size(), operands.size()); ++i)
        if (old_of(operands[i]) == kNoValue &&
            graphs_.alignment.to_new[index_of(before[i])] == kNoValue)
          out.emplace(operands[i], before[i]);
    }
    return out;
  }

  bool has(Cause cause) const {
    return std::ranges::any_of(out_, [&](const Difference& d) { return d.cause == cause; });
  }

  // Attributes.

  AttributeRules rules() const {
    return AttributeRules(graphs_, {.sizes = sizes_,
                                    .mode = mode_,
                                    .changed_places = changed_places_,
                                    .input_shape = has(Cause::kInputShape),
                                    .input_dtype = has(Cause::kInputDtype),
                                    .same_ops = same_ops_});
  }

  void compare_attrs(ValueId id) {
    const ValueId old = old_of(id);
    if (std::ranges::equal(now_.attr_words(id), old_.attr_words(old))) {
      // Its type, then, follows from its operands'.
      if (now_[id].op != Op::kConstant) sizes_.add(old_.sizes(old), now_.sizes(id));
      return;
    }
    std::set<Attr> attrs;
    for (const Attrs::Entry& entry : now_.attrs(id)) attrs.insert(entry.attr);
    for (const Attrs::Entry& entry : old_.attrs(old)) attrs.insert(entry.attr);
    for (const Attr attr : attrs) {
      const IntView before = find_attr(old_, old, attr);
      const IntView values = find_attr(now_, id, attr);
      if (std::ranges::equal(before, values)) continue;
      if (attr == Attr::kStream) {
        tell_stream(id, old);
        continue;
      }
      const auto print = [&](IntView list, DType result) {
        // The dtype that an op gives of its own.
        if (list.empty() && attr == Attr::kTo) return std::string(lockstep::name_of(result));
        return list.empty() && type_of(attr) != AttrType::kInts ? std::string("none")
                                                                : print_values({attr, list});
      };
      Difference& difference =
          add(Cause::kAttribute, id, fmt::format("{} {}", name_of(id), lockstep::name_of(attr)),
              print(before, old_[old].dtype), print(values, now_[id].dtype));
      const Follows follows = rules().judge(id, attr);
      const bool sized = has(Cause::kInputShape) && sized_[index_of(id)];
      difference.perhaps = follows == Follows::kPerhaps && sized;
      difference.derived = follows == Follows::kYes || difference.perhaps ||
                           !changed_ops_.are_one(id) || other_op_of_line(id);
      difference.remedy =
          remedy_of_attr(attr, count_elements(now_.sizes(id)) != count_elements(old_.sizes(old)));
      if (attr == Attr::kDims && info_of(now_[id].op).op_class == OpClass::kReduction)
        sizes_.add(reduced(old_, old, before), reduced(now_, id, values));
    }
    sizes_.add(old_.sizes(old), now_.sizes(id));
  }

  /// A draw is named by its module and its number there.
  void tell_stream(ValueId id, ValueId old) {
    const bool moved = now_.scope(id) != old_.scope(old);
    const auto scope = [](const GraphDescriptor& graph, ValueId of) {
      return graph.scope(of).empty() ? std::string("no module") : graph.scope(of);
    };
    Difference& difference =
        add(Cause::kAttribute, id, fmt::format("random numbers of {}", now_.line(id)),
            moved ? scope(old_, old) : "", moved ? scope(now_, id) : "are drawn in another order");
    difference.derived = !same_ops_ || other_op_of_line(id);  // draws are counted
    difference.remedy = kDrawRemedy;
  }

  /// Of what a line records with another attribute the first op is told: the others prepare its
  /// result, or are its gradient.
  bool other_op_of_line(ValueId id) {
    if (now_.line(id).empty()) return false;
    return first_of_place_.try_emplace(now_[id].origin, id).first->second != id;
  }

  /// Without its type, which differs.
  std::string name_of(ValueId id) const { return describe_untyped(now_, id); }

  // Constants.

  void compare_constant(ValueId id) {
    const ValueId old = old_of(id);
    const GraphDescriptor::Literal& before = old_.literal(old);
    const GraphDescriptor::Literal& literal = now_.literal(id);
    if (before.digest != literal.digest) tell_constant(id, old);
  }

  void tell_constant(ValueId id, ValueId old) {
    const GraphDescriptor::Literal& before = old_.literal(old);
    const GraphDescriptor::Literal& literal = now_.literal(id);
    const bool same_type = now_.same_type(id, old_, old);
    numbers_.push_back({out_.size(), {id, old}});
    Difference& difference =
        add(Cause::kConstant, id, same_type ? describe(now_, id) : name_of(id),
            print_literal(old_, old, same_type), print_literal(now_, id, same_type));
    if (now_.is_update(id)) difference.remedy = kUpdateRemedy;
    if (now_[id].rank > 0 || old_[old].rank > 0)
      difference.remedy = same_type ? kTableRemedy : kTableSizeRemedy;
    if (now_[id].dtype != old_[old].dtype) {
      // A number has the dtype of what it is taken with.
      difference.derived = have_equal_values(old, id);
      if (!difference.derived) {
        difference.from = print_literal(old_, old, true);
        difference.to = print_literal(now_, id, true);
      }
    } else if (!same_type) {
      difference.derived = sizes_.explain(old_.sizes(old), now_.sizes(id));
      sizes_.add(old_.sizes(old), now_.sizes(id));
    } else if (!before.values.empty()) {
      bool follows = true;
      for (std::size_t i = 0; i < literal.values.size(); ++i)
        follows =
            follows && (before.values[i] == literal.values[i] ||
                        sizes_.explain_number(before.values[i], literal.values[i], now_[id].dtype));
      difference.derived = follows;
    }
    const bool of_mean = is_of_mean(now_, id) && is_of_mean(old_, old);
    const bool computed =
        same_type && is_computed(before, literal, now_[id].dtype) && is_taken_by_sized(id);
    difference.derived = difference.derived || computed;
    if (has(Cause::kInputShape) && same_type && !of_mean) {
      // It may have been computed from the size, in whatever way, or be a number of its own.
      const bool sized = is_taken_by_sized(id) && may_follow(before, literal, now_[id].dtype);
      difference.perhaps = sized && !computed;
      difference.derived = sized || computed || (difference.derived && are_counts(before, literal));
    }
    difference.derived = difference.derived || of_mean || came_with_ops(id) ||
                         !is_taken_alike(graphs_, changed_ops_, {id, old});
    if (same_type && before.values.empty()) tell_elements(before, literal, difference);
    if (!difference.derived && !difference.line.empty())
      tell_other_lines(graphs_, {id, old}, difference);
  }

  /// Whether the number's place records more ops, or fewer, and all numbers that the graph with
  /// fewer takes there are taken there in both: a loop makes more trips, whose numbers are others.
  bool came_with_ops(ValueId id) {
    const AttributeRules::Place place{now_.line(id), now_.scope(id)};
    if (!changed_places_.contains(place)) return false;
    const auto [known, is_new] = only_more_numbers_.try_emplace(place, false);
    if (!is_new) return known->second;
    const auto [before, numbers_before] = taken_at_place(old_, id);
    const auto [after, numbers_after] = taken_at_place(now_, id);
    known->second = (after > before && std::ranges::includes(numbers_after, numbers_before)) ||
                    (after < before && std::ranges::includes(numbers_before, numbers_after));
    return known->second;
  }

  /// The number of ops of the place of the new node, gradients apart, and the constants they take.
  std::pair<int, std::set<std::uint64_t>> taken_at_place(const GraphDescriptor& graph,
                                                         ValueId place) const {
    std::pair<int, std::set<std::uint64_t>> out;
    for (ValueId id = 0; id < graph.size(); ++id) {
      if (is_leaf(graph, id) || graph[id].gradient || graph.line(id) != now_.line(place) ||
          graph.scope(id) != now_.scope(place))
        continue;
      ++out.first;
      for (const ValueId operand : graph.operands(id))
        if (const ValueId number = constant_of(graph, operand); number != kNoValue)
          out.second.insert(graph.literal(number).digest.low);
    }
    return out;
  }

  /// The same numbers in other places: they were taken in another order.
  void tell_order_of_numbers() {
    std::vector<std::string> before, now;
    std::vector<std::size_t> told;  // in numbers_
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const Difference& difference = out_[numbers_[i].difference];
      if (difference.derived || difference.from.empty() || !difference.note.empty()) continue;
      before.push_back(difference.from);
      now.push_back(difference.to);
      told.push_back(i);
    }
    if (told.size() < 2 || !std::ranges::is_permutation(before, now)) return;
    // Two may trade places because one is computed from the other: 0.3 and 0.7.
    if (told.size() == 2 &&
        !are_taken_in_one_way(graphs_, numbers_[told[0]].number, numbers_[told[1]].number))
      return;
    for (Difference& difference : out_)
      if (difference.cause == Cause::kConstant) difference.derived = true;
    Difference& first = out_[numbers_[told[0]].difference];
    first.derived = false;
    first.subject = fmt::format("numbers that are taken in another order at {}", first.line);
    first.from = fmt::format("{}", fmt::join(before, ", "));
    first.to = fmt::format("{}", fmt::join(now, ", "));
    first.remedy = kNumberOrderRemedy;
  }

  // Operands.

  void compare_operands(ValueId id, OperandChanges& changes) {
    const auto before = old_.operands(old_of(id));
    const auto operands = now_.operands(id);
    std::vector<ValueId> mapped;
    for (const ValueId operand : operands) mapped.push_back(old_of(operand));
    if (std::ranges::equal(mapped, before)) return;
    if (compare_merged_constants(id, before, operands)) return;
    if (now_[id].op == Op::kConcatenate && before.size() != operands.size()) {
      changes.tell_parts(id);
      return;
    }
    const auto gone = [&](ValueId operand) {
      return graphs_.alignment.to_new[index_of(operand)] == kNoValue;
    };
    if (are_recorded_in_both(before, operands)) {
      changes.tell_choice(id);
      return;
    }
    // To another one because of ops that came or went.
    if (std::ranges::find(mapped, kNoValue) != mapped.end() || std::ranges::any_of(before, gone))
      return;
    if (std::ranges::is_permutation(mapped, before)) {
      changes.tell_swap(id);
    } else {
      changes.tell_operand(id);
    }
    // An update that takes another gradient.
    const auto is_gradient = [&](ValueId operand) { return bool{now_[operand].gradient}; };
    out_.back().gradient = out_.back().gradient || std::ranges::any_of(operands, is_gradient);
  }

  /// Whether each operand that is another one was recorded in both programs, and one of these in
  /// one graph only, because nothing else needs it.
  bool are_recorded_in_both(std::span<const ValueId> before,
                            std::span<const ValueId> operands) const {
    const auto is_dropped = [&](const GraphDescriptor& graph, ValueId id) {
      return !graph[id].gradient && recorded_.is_dropped_in_other(graph, id);
    };
    if (before.size() != operands.size()) return false;
    bool any = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (old_of(operands[i]) == before[i]) continue;
      const bool came = is_dropped(now_, operands[i]), went = is_dropped(old_, before[i]);
      if (!came && old_of(operands[i]) == kNoValue) return false;
      if (!went && graphs_.alignment.to_new[index_of(before[i])] == kNoValue) return false;
      any = any || came || went;
    }
    return any;
  }

  /// Equal numbers are recorded once: one that changes may part from another, or join it. Whether
  /// that is all that differs.
  bool compare_merged_constants(ValueId id, std::span<const ValueId> before,
                                std::span<const ValueId> operands) {
    bool all = before.size() == operands.size();
    for (std::size_t i = 0; all && i < operands.size(); ++i) {
      if (old_of(operands[i]) == before[i]) continue;
      const ValueId constant = constant_of(now_, operands[i]);
      const ValueId old = constant_of(old_, before[i]);
      all = constant != kNoValue && old != kNoValue;
      if (all && old_.literal(old).digest != now_.literal(constant).digest &&
          told_constants_.emplace(old, constant).second) {
        tell_constant(constant, old);
        tell_own_place(graphs_, {constant, old}, id, out_.back());
        // Gradients of two turns of a loop may be mistaken for each other: the loop tells it.
        out_.back().gradient = out_.back().gradient || now_[id].gradient;
      }
    }
    return all;
  }

  /// One number in many places is one cause, which names the lines of all.
  void mark_repeated() {
    std::map<std::pair<std::string, std::string>, std::size_t> seen;
    std::map<std::size_t, std::set<std::string>> lines;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      Difference& difference = out_[i];
      if (difference.derived || difference.from.empty()) continue;
      if (difference.cause != Cause::kAttribute && difference.cause != Cause::kConstant) continue;
      const std::string kind = difference.cause == Cause::kConstant
                                   ? std::string()
                                   : difference.subject.substr(difference.subject.rfind(' '));
      const auto [first, inserted] = seen.try_emplace({kind, difference.change()}, i);
      difference.derived = !inserted;
      if (!inserted && difference.line != out_[first->second].line && !difference.gradient)
        lines[first->second].insert(difference.line);
    }
    for (const auto& [first, others] : lines) {
      out_[first].subject += fmt::format(" and {}", *others.begin());
      if (others.size() > 1) out_[first].subject += fmt::format(" and {} more", others.size() - 1);
    }
  }

  const Comparison& graphs_;
  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  const ModeChange& mode_;
  const RecordedOps& recorded_;
  const ChangedOps changed_ops_;
  bool same_ops_ = false;
  SizeChanges sizes_;
  std::vector<bool> sized_;
  std::set<AttributeRules::Place> changed_places_;           ///< with ops that one graph has alone
  std::map<AttributeRules::Place, bool> only_more_numbers_;  ///< came_with_ops()
  std::unordered_map<std::uint32_t, ValueId> first_of_place_;  ///< with another attribute
  std::set<std::pair<ValueId, ValueId>> told_constants_;
  std::vector<ToldNumber> numbers_;  ///< in the order of their differences
  std::vector<Difference> out_;
};

}  // namespace

std::vector<Difference> compare_leaves(const Comparison& graphs, const RecordedOps& recorded,
                                       const ModeChange& mode) {
  return LeafComparison(graphs, recorded, mode).run();
}

}  // namespace lockstep
