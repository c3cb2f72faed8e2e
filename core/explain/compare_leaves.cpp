#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/explain/differences.h"
#include "core/explain/op_groups.h"
#include "core/ir/literal_text.h"
#include "core/ir/text.h"

namespace lockstep {
namespace {

std::size_t at(ValueId id) {
  return static_cast<std::size_t>(id);
}

std::string print_number(double value, DType dtype) {
  return print_element(from_doubles(dtype, Shape{}, std::span(&value, 1)), 0);
}

std::string print_sizes(std::span<const std::int64_t> sizes) {
  return Shape(ArrayRef<std::int64_t>(sizes)).to_string();
}

IntView find_attr(const GraphDescriptor& graph, ValueId id, Attr attr) {
  for (const Attrs::Entry& entry : graph.attrs(id))
    if (entry.attr == attr) return entry.values;
  return {};
}

class LeafComparison {
 public:
  explicit LeafComparison(const Comparison& graphs)
      : graphs_(graphs), old_(graphs.old), now_(graphs.now) {
    const auto none = [](ValueId id) { return id == kNoValue; };
    same_ops_ = std::ranges::none_of(graphs.alignment.to_old, none) &&
                std::ranges::none_of(graphs.alignment.to_new, none);
    for (ValueId id = 0; id < now_.size(); ++id)
      ops_moved_ = ops_moved_ || (graphs.alignment.moved[at(id)] && !is_leaf(now_, id));
  }

  std::vector<Difference> run() {
    compare_inputs();
    for (ValueId id = 0; id < now_.size(); ++id)
      if (old_of(id) != kNoValue && now_[id].op != Op::kInput) compare_attrs(id);
    for (ValueId id = 0; id < now_.size(); ++id)
      if (old_of(id) != kNoValue && now_[id].op == Op::kConstant) compare_constant(id);
    for (ValueId id = 0; id < now_.size(); ++id)
      if (old_of(id) != kNoValue) compare_operands(id);
    mark_repeated();
    tell_order_of_results();
    return std::move(out_);
  }

 private:
  ValueId old_of(ValueId id) const { return graphs_.alignment.to_old[at(id)]; }
  bool type_changed(ValueId id) const {
    return old_of(id) != kNoValue && !now_.same_type(id, old_, old_of(id));
  }
  bool operand_changed(ValueId id, auto changed) const {
    return std::ranges::any_of(now_.operands(id), changed);
  }
  Difference& add(Cause cause, ValueId id, std::string subject, std::string from, std::string to) {
    out_.push_back({cause, std::move(subject), std::move(from), std::move(to), now_.line(id),
                    now_.scope(id), false});
    return out_.back();
  }

  // Inputs.

  void compare_inputs() {
    std::vector<ValueId> inputs;
    for (const ValueId id : now_.inputs())
      if (old_of(id) != kNoValue) inputs.push_back(id);
    // State has other shapes because batches have, or parameters.
    std::ranges::stable_sort(inputs, {}, [&](ValueId id) {
      return std::pair(now_[id].kind != InputKind::kBatch, now_[id].kind != InputKind::kParameter);
    });
    for (const ValueId id : inputs) compare_input(id, old_of(id));
  }

  void compare_input(ValueId id, ValueId old) {
    const std::string name = describe(now_, id);
    const auto add_input = [&](Cause cause, std::string subject, std::string from, std::string to) {
      Difference& difference = add(cause, id, std::move(subject), std::move(from), std::move(to));
      const ValueId user = first_user(now_, id);
      difference.line = user == kNoValue ? "" : now_.line(user);
      difference.scope = user == kNoValue ? "" : now_.scope(user);
      if (cause == Cause::kInputShape) difference.remedy = shape_remedy(now_[id].kind);
    };
    if (now_[id].kind != old_[old].kind)
      add_input(Cause::kInputs, name, std::string(name_of(old_[old].kind)),
                std::string(name_of(now_[id].kind)));
    if (now_[id].dtype != old_[old].dtype)
      add_input(Cause::kInputDtype, name, std::string(name_of(old_[old].dtype)),
                std::string(name_of(now_[id].dtype)));
    const auto before = old_.sizes(old);
    const auto sizes = now_.sizes(id);
    sizes_.add(before, sizes);
    if (before.size() != sizes.size()) {
      add_input(Cause::kInputShape, name, print_sizes(before), print_sizes(sizes));
      return;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] != before[i])
        add_input(Cause::kInputShape, fmt::format("{}[{}]", name, dimension(id, old, i)),
                  std::to_string(before[i]), std::to_string(sizes[i]));
  }

  /// Only batches can be padded.
  static std::string_view shape_remedy(InputKind kind) {
    switch (kind) {
      case InputKind::kBatch: return remedy_of(Cause::kInputShape);
      case InputKind::kParameter: return {};
      case InputKind::kState:
      case InputKind::kScalar:
        return "give it its largest size in every step and mask the rest, or take a few sizes";
    }
    __builtin_unreachable();
  }

  std::string dimension(ValueId id, ValueId old, std::size_t i) const {
    const std::string& name = now_.input(id).dimensions[i];
    const std::string& before = old_.input(old).dimensions[i];
    return !name.empty() ? name : !before.empty() ? before : std::to_string(i);
  }

  // What follows from them.

  bool has(Cause cause) const {
    return std::ranges::any_of(out_, [&](const Difference& d) { return d.cause == cause; });
  }

  // Attributes.

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
      const auto print = [&](IntView list) {
        return list.empty() && type_of(attr) != AttrType::kInts ? std::string("none")
                                                                : print_values({attr, list});
      };
      Difference& difference =
          add(Cause::kAttribute, id, fmt::format("{} {}", describe_op(id), name_of(attr)),
              print(before), print(values));
      difference.derived = attr_follows(id, attr, before, values) || other_op_of_line(id);
      difference.remedy = attr_remedy(id, attr);
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
    difference.remedy = "draw in modules of the same names, in the same order, in every step";
  }

  /// How many elements of its operand the op makes one of.
  static std::int64_t reduced(const GraphDescriptor& graph, ValueId id, IntView dims) {
    std::int64_t out = 1;
    for (const std::int64_t dim : dims) out *= graph.sizes(graph.operands(id)[0])[at(ValueId(dim))];
    return out;
  }

  /// Of what a line records with another attribute the first op is told: the others prepare its
  /// result, or are its gradient.
  bool other_op_of_line(ValueId id) {
    if (now_.line(id).empty()) return false;
    return first_of_place_.try_emplace(now_[id].origin, id).first->second != id;
  }

  std::string_view attr_remedy(ValueId id, Attr attr) const {
    constexpr std::string_view kSizes =
        "a size is part of the program: take the largest in every step and mask the rest, or a few "
        "sizes";
    switch (attr) {
      case Attr::kFunction:
      case Attr::kVersion:
        return "call one function of one version in every step; what changes comes in as an "
               "operand";
      case Attr::kStart:
      case Attr::kLimit:
        return now_.same_type(id, old_, old_of(id)) ? "take dynamic_slice() with starts that are "
                                                      "scalar(): x.context().scalar(start, "
                                                      "DType::kI64, name)"
                                                    : kSizes;
      case Attr::kShape:
      case Attr::kLow:
      case Attr::kHigh: return kSizes;
      case Attr::kScale:
        return "multiply by a scalar() instead: x.context().scalar(value, dtype, name)";
      case Attr::kTo: return "take one dtype in every step";
      case Attr::kDims:
      case Attr::kAxis:
      case Attr::kStride:
      case Attr::kLhsBatch:
      case Attr::kRhsBatch:
      case Attr::kLhsContract:
      case Attr::kRhsContract:
      case Attr::kPadding:
      case Attr::kDilation:
      case Attr::kGroups:
      case Attr::kWindow:
      case Attr::kCausal:
      case Attr::kMasked:
      case Attr::kDropout:
      case Attr::kStream:
      case Attr::kRanks:
      case Attr::kRoot:
      case Attr::kIndex:
      case Attr::kResults:
      case Attr::kChannelsLast: return remedy_of(Cause::kAttribute);
    }
    __builtin_unreachable();
  }

  std::string describe_op(ValueId id) const {
    const std::string place = now_.place(id);
    return std::string(name_of(now_[id].op)) + (place.empty() ? "" : " " + place);
  }

  /// Whether it may have changed because of what was found so far.
  bool attr_follows(ValueId id, Attr attr, IntView before, IntView now) const {
    const auto operand_differs = [&](auto what) {
      return operand_changed(id, [&](ValueId operand) {
        return old_of(operand) != kNoValue && what(now_[operand]) != what(old_[old_of(operand)]);
      });
    };
    const auto rank = [](const GraphDescriptor::Node& node) { return int{node.rank}; };
    const auto dtype = [](const GraphDescriptor::Node& node) {
      return static_cast<int>(node.dtype);
    };
    switch (attr) {
      case Attr::kShape:
      case Attr::kStart:
      case Attr::kLimit:
      case Attr::kGroups: return sizes_.explain(before, now) || operand_differs(rank);
      case Attr::kLow:
      case Attr::kHigh: return sizes_.explain_rest(before, now) || operand_differs(rank);
      case Attr::kScale:
        return !before.empty() && !now.empty() &&
               sizes_.explain_number(std::bit_cast<double>(before[0]),
                                     std::bit_cast<double>(now[0]), DType::kF32);
      case Attr::kTo: return operand_differs(dtype) || has(Cause::kInputDtype);
      case Attr::kDims:
      case Attr::kAxis:
      case Attr::kStride:
      case Attr::kLhsBatch:
      case Attr::kRhsBatch:
      case Attr::kLhsContract:
      case Attr::kRhsContract: return operand_differs(rank);
      case Attr::kStream: return !same_ops_;
      case Attr::kResults:
        return operand_changed(id, [&](ValueId operand) { return type_changed(operand); });
      case Attr::kMasked: return now_[id].operands != old_[old_of(id)].operands;  // the mask's
      case Attr::kPadding:
      case Attr::kDilation:
      case Attr::kWindow:
      case Attr::kCausal:
      case Attr::kDropout:
      case Attr::kRanks:
      case Attr::kRoot:
      case Attr::kIndex:
      case Attr::kFunction:
      case Attr::kVersion:
      case Attr::kChannelsLast: return false;
    }
    __builtin_unreachable();
  }

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
    Difference& difference = add(Cause::kConstant, id, describe(now_, id),
                                 print(old_, old, same_type), print(now_, id, same_type));
    if (now_[id].rank > 0)
      difference.remedy =
          "make it an input: session.tensor(value, name), whose values are no part of the program";
    if (now_[id].dtype != old_[old].dtype) {
      difference.derived = has(Cause::kInputDtype);
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
    if (difference.from == difference.to) {
      difference.from.clear();
      difference.to = "has other values";
    }
  }

  static std::string print(const GraphDescriptor& graph, ValueId id, bool same_type) {
    const std::vector<double>& values = graph.literal(id).values;
    if (!same_type || values.empty()) return graph.type(id);
    if (graph[id].rank == 0) return print_number(values[0], graph[id].dtype);
    std::string out;
    for (const double value : values)
      out += (out.empty() ? "[" : ",") + print_number(value, graph[id].dtype);
    return out + "]";
  }

  // Operands.

  void compare_operands(ValueId id) {
    const auto before = old_.operands(old_of(id));
    const auto operands = now_.operands(id);
    std::vector<ValueId> mapped;
    for (const ValueId operand : operands) mapped.push_back(old_of(operand));
    if (std::ranges::equal(mapped, before)) return;
    if (compare_merged_constants(before, operands)) return;
    const auto gone = [&](ValueId operand) {
      return graphs_.alignment.to_new[at(operand)] == kNoValue;
    };
    // To another one because of ops that came or went.
    if (std::ranges::find(mapped, kNoValue) != mapped.end() || std::ranges::any_of(before, gone))
      return;
    if (std::ranges::is_permutation(mapped, before)) {
      add(Cause::kOpOrder, id, describe(now_, id), "", "takes its operands in another order");
    } else {
      tell_operand(id, before, operands);
    }
    out_.back().derived = out_.back().derived || !same_ops_ || ops_moved_;
  }

  /// The first that is another one.
  void tell_operand(ValueId id, std::span<const ValueId> before,
                    std::span<const ValueId> operands) {
    std::size_t i = 0;
    while (i < operands.size() && i < before.size() && old_of(operands[i]) == before[i]) ++i;
    const bool input = (i < before.size() && old_.is_input(before[i])) ||
                       (i < operands.size() && now_.is_input(operands[i]));
    Difference& difference =
        add(Cause::kInputs, id, fmt::format("operand {} of {}", i, describe(now_, id)),
            i < before.size() ? describe(old_, before[i]) : "none",
            i < operands.size() ? describe(now_, operands[i]) : "none");
    if (input) return;
    // What takes another result changes the way of the gradients.
    difference.derived = !results_before_.empty();
    difference.remedy =
        "take the same values in every step: choose between two by select() with a scalar()";
    if (results_before_.empty()) first_result_ = out_.size() - 1;
    for (; i < operands.size() && i < before.size(); ++i) {
      if (old_of(operands[i]) == before[i]) continue;
      results_before_.push_back(before[i]);
      results_now_.push_back(old_of(operands[i]));
    }
  }

  /// Several ops took the same results, each another of them.
  void tell_order_of_results() {
    std::ranges::sort(results_before_);
    std::ranges::sort(results_now_);
    if (results_before_.size() < 2 || results_before_ != results_now_) return;
    Difference& difference = out_[first_result_];
    difference.cause = Cause::kOpOrder;
    difference.subject = "results";
    difference.from.clear();
    difference.to = fmt::format("are taken in another order at {}", difference.line);
    difference.remedy = remedy_of(Cause::kOpOrder);
  }

  /// Equal numbers are recorded once: one that changes may part from another, or join it. Whether
  /// that is all that differs.
  bool compare_merged_constants(std::span<const ValueId> before,
                                std::span<const ValueId> operands) {
    bool all = before.size() == operands.size();
    for (std::size_t i = 0; all && i < operands.size(); ++i) {
      if (old_of(operands[i]) == before[i]) continue;
      const ValueId constant = constant_of(now_, operands[i]);
      const ValueId old = constant_of(old_, before[i]);
      all = constant != kNoValue && old != kNoValue;
      if (all && old_.literal(old).digest != now_.literal(constant).digest &&
          told_constants_.emplace(old, constant).second)
        tell_constant(constant, old);
    }
    return all;
  }

  /// The constant that a value repeats; kNoValue if it is something else.
  static ValueId constant_of(const GraphDescriptor& graph, ValueId id) {
    while (graph[id].op == Op::kBroadcast) id = graph.operands(id)[0];
    return graph[id].op == Op::kConstant ? id : kNoValue;
  }

  /// One number in many places is one cause.
  void mark_repeated() {
    std::set<std::tuple<std::string, std::string, std::string>> seen;
    for (Difference& difference : out_) {
      if (difference.derived || difference.from.empty()) continue;
      if (difference.cause != Cause::kAttribute && difference.cause != Cause::kConstant) continue;
      const std::string kind = difference.cause == Cause::kConstant
                                   ? std::string()
                                   : difference.subject.substr(difference.subject.rfind(' '));
      if (!seen.emplace(kind, difference.from, difference.to).second) difference.derived = true;
    }
  }

  const Comparison& graphs_;
  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  bool same_ops_ = false;
  bool ops_moved_ = false;
  std::size_t first_result_ = 0;         ///< the difference that tells the first of these
  std::vector<ValueId> results_before_;  ///< taken where another one is taken now
  std::vector<ValueId> results_now_;
  SizeChanges sizes_;
  std::unordered_map<std::uint32_t, ValueId> first_of_place_;  ///< with another attribute
  std::set<std::pair<ValueId, ValueId>> told_constants_;
  std::vector<Difference> out_;
};

}  // namespace

std::vector<Difference> compare_leaves(const Comparison& graphs) {
  return LeafComparison(graphs).run();
}

}  // namespace lockstep
