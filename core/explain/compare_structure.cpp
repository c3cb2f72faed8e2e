#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/explain/differences.h"
#include "core/explain/group_rules.h"
#include "core/explain/literals.h"
#include "core/explain/mode_change.h"
#include "core/explain/op_groups.h"
#include "core/explain/recorded_ops.h"
#include "core/explain/remedies.h"

namespace lockstep {
namespace {

class StructureComparison {
 public:
  StructureComparison(const Comparison& graphs, const RecordedOps& recorded, const ModeChange& mode,
                      const std::vector<Difference>& leaves)
      : graphs_(graphs),
        old_(graphs.old),
        now_(graphs.now),
        alignment_(graphs.alignment),
        recorded_(recorded),
        mode_(mode),
        leaves_(leaves) {
    added_ = unmatched(alignment_.to_old);
    removed_ = unmatched(alignment_.to_new);
    for (ValueId id = 0; id < now_.size(); ++id)
      if (alignment_.moved[index_of(id)]) moved_.push_back(id);
    find_outputs();
    only_liveness_ = now_.context().recorded != 0 &&
                     now_.context().recorded == old_.context().recorded && recorded_.are_equal() &&
                     none_needed(now_, added_, extra_) && none_needed(old_, removed_, missing_);
  }

  std::vector<Difference> run() {
    const std::vector<OpGroup> came = group_ops(now_, added_, lines_of(old_, removed_), recorded_);
    const std::vector<OpGroup> went = group_ops(old_, removed_, lines_of(now_, added_), recorded_);
    add_inputs(now_, added_, "is a new input");
    add_inputs(old_, removed_, "is no longer an input");
    add_ops(Cause::kOpAdded, now_, came, "was added", "were added");
    add_ops(Cause::kOpRemoved, old_, went, "is gone", "are gone");
    tell_changed_places();
    add_moved();
    compare_outputs();
    return std::move(out_);
  }

 private:
  static std::vector<ValueId> unmatched(const std::vector<ValueId>& to_other) {
    std::vector<ValueId> out;
    for (std::size_t id = 0; id < to_other.size(); ++id)
      if (to_other[id] == kNoValue) out.push_back(static_cast<ValueId>(id));
    return out;
  }

  /// That recorded ops which one graph has alone.
  static std::set<std::string> lines_of(const GraphDescriptor& graph,
                                        const std::vector<ValueId>& ids) {
    std::set<std::string> out;
    for (const ValueId id : ids)
      if (!is_leaf(graph, id) && !graph[id].gradient) out.insert(graph.line(id));
    return out;
  }

  /// Whether lines recorded other ops: what they made is held, or assigned, instead.
  bool ops_differ() const {
    const auto any = [](const GraphDescriptor& graph, const std::vector<ValueId>& ids) {
      return std::ranges::any_of(
          ids, [&](ValueId id) { return !is_leaf(graph, id) && !graph[id].gradient; });
    };
    return any(now_, added_) || any(old_, removed_);
  }

  /// Which outputs, by place, only one of the graphs has.
  void find_outputs() {
    std::multiset<ValueId> left(old_.outputs().begin(), old_.outputs().end());
    const std::span<const ValueId> outputs = now_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto found = left.find(alignment_.to_old[index_of(outputs[i])]);
      if (found == left.end()) {
        extra_.push_back(i);
      } else {
        left.erase(found);
      }
    }
    for (std::size_t i = 0; i < old_.outputs().size(); ++i) {
      const auto found = left.find(old_.outputs()[i]);
      if (found == left.end()) continue;
      missing_.push_back(i);
      left.erase(found);
    }
  }

  /// Whether no output except the `special` ones needs any of the nodes.
  static bool none_needed(const GraphDescriptor& graph, const std::vector<ValueId>& ids,
                          const std::vector<std::size_t>& special) {
    std::vector<bool> needed(index_of(graph.size()), false);
    for (std::size_t i = 0; i < graph.outputs().size(); ++i)
      if (std::ranges::find(special, i) == special.end())
        needed[index_of(graph.outputs()[i])] = true;
    for (ValueId id = graph.size(); id-- > 0;)
      if (needed[index_of(id)])
        for (const ValueId operand : graph.operands(id)) needed[index_of(operand)] = true;
    return std::ranges::none_of(ids, [&](ValueId id) { return needed[index_of(id)]; });
  }

  // Inputs that came or went.

  void add_inputs(const GraphDescriptor& graph, const std::vector<ValueId>& ids, const char* what) {
    for (const ValueId id : ids) {
      if (!graph.is_input(id)) continue;
      const ValueId user = first_user(graph, id);
      Difference difference{.cause = Cause::kInputs, .subject = describe(graph, id), .to = what};
      if (!graph.input(id).name.empty()) difference.subject += " " + graph.type(id);
      difference.derived = only_liveness_ || comes_with_ops(graph, user) || is_part(graph, user) ||
                           comes_with_attribute(graph, user) ||
                           mode_.changes_keeper_of(graph.input(id).name);
      if (graph[id].kind == InputKind::kScalar) difference.remedy = remedy_of(Cause::kConstant);
      if (const ValueId constant = constant_in_place_of(graph, id); constant != kNoValue) {
        tell_constant_for_input(graph, id, constant, difference);
      } else if (user != kNoValue) {
        difference.to += " of " + describe(graph, user);
        if (graph.is_update(user)) difference.remedy = kUpdateRemedy;
        difference.line = graph.line(user);
        difference.scope = graph.scope(user);
      }
      out_.push_back(std::move(difference));
    }
  }

  /// What the other graph's op takes where this one's takes the input, if that is a constant; any
  /// of them may be repeated.
  ValueId constant_in_place_of(const GraphDescriptor& graph, ValueId input) const {
    const GraphDescriptor& other = graphs_.other(graph);
    const std::vector<ValueId>& to_other = graphs_.to_other(graph);
    for (ValueId id = input + 1; id < graph.size(); ++id) {
      const ValueId theirs = to_other[index_of(id)];
      if (theirs == kNoValue || other[theirs].operands != graph[id].operands) continue;
      for (std::size_t i = 0; i < graph[id].operands; ++i) {
        const ValueId constant = constant_of(other, other.operands(theirs)[i]);
        if (repeated(graph, graph.operands(id)[i]) == input && constant != kNoValue)
          return constant;
      }
    }
    return kNoValue;
  }

  static ValueId repeated(const GraphDescriptor& graph, ValueId id) {
    while (graph[id].op == Op::kBroadcast) id = graph.operands(id)[0];
    return id;
  }

  void tell_constant_for_input(const GraphDescriptor& graph, ValueId input, ValueId constant,
                               Difference& difference) const {
    const GraphDescriptor& other = graphs_.other(graph);
    const ValueId user = first_user(graph, input);
    const std::string value = print_literal(other, constant, true);
    const std::string what = describe(other, constant) +
                             (value == other.type(constant) ? "" : fmt::format(" of {}", value));
    difference.to =
        fmt::format("{} {}, in {}", graphs_.is_now(graph) ? "took the place of" : "was replaced by",
                    what, describe(graph, user));
    const bool made_now = graphs_.is_now(other) && !other.line(constant).empty();
    difference.line = made_now ? other.line(constant) : graph.line(user);
    difference.scope = made_now ? other.scope(constant) : graph.scope(user);
    difference.remedy = kInputRemedy;
    difference.derived = only_liveness_;
  }

  /// Whether it is one of a list whose length is told.
  bool is_part(const GraphDescriptor& graph, ValueId user) const {
    if (user == kNoValue || graph[user].op != Op::kConcatenate) return false;
    const ValueId theirs = graphs_.to_other(graph)[index_of(user)];
    return theirs != kNoValue && graphs_.other(graph)[theirs].operands != graph[user].operands;
  }

  /// Whether an input is there, or not, because of ops of a line that only this program has.
  bool comes_with_ops(const GraphDescriptor& graph, ValueId user) const {
    return user != kNoValue && graphs_.to_other(graph)[index_of(user)] == kNoValue;
  }

  /// Whether an op takes it, or more of them, for an attribute: attention the key of its dropout.
  bool comes_with_attribute(const GraphDescriptor& graph, ValueId user) const {
    const ValueId theirs = user == kNoValue ? kNoValue : graphs_.to_other(graph)[index_of(user)];
    return theirs != kNoValue && graphs_.other(graph)[theirs].operands != graph[user].operands &&
           !std::ranges::equal(graph.attr_words(user), graphs_.other(graph).attr_words(theirs));
  }

  // Ops that came or went.

  void add_ops(Cause cause, const GraphDescriptor& graph, const std::vector<OpGroup>& groups,
               const char* one, const char* many) {
    const GroupRules rules(graphs_, mode_, leaves_, added_, removed_);
    for (const OpGroup& group : groups) {
      const ValueId id = group.told;
      Difference difference{.cause = cause, .subject = describe(graph, id), .to = one};
      if (const std::size_t more = group.ids.size() - 1; more > 0)
        difference.to =
            fmt::format("and {} more {} there {}", more, more == 1 ? "op" : "ops", many);
      if (const int more = group.other_scopes; more > 0)
        difference.to +=
            fmt::format(", likewise in {} other {}", more, more == 1 ? "scope" : "scopes");
      difference.line = graph.line(id);
      difference.scope = graph.scope(id);
      difference.gradient = graph[id].gradient;
      if (is_remat(graph, id)) {
        difference.remedy = kRematRemedy;
        difference.gradient = !recomputes_common_ops(graph, id);
      }
      // A loop that draws more often has other remedies than a draw of its own.
      if (graph[id].op == Op::kRandomBits && !recorded_.is_in_other(graph, id))
        difference.remedy = kDropoutRemedy;
      if (graph.is_update(id)) difference.remedy = kUpdateRemedy;
      const Follows follows = rules.judge(graph, group);
      const bool is_consequence = only_liveness_ || group.follows || group.only_dropped;
      difference.derived = is_consequence || follows != Follows::kNo;
      difference.perhaps = !is_consequence && follows == Follows::kPerhaps;
      out_.push_back(std::move(difference));
    }
  }

  static bool is_remat(const GraphDescriptor& graph, ValueId id) {
    return graph[id].op == Op::kOptimizationBarrier && graph[id].gradient;
  }

  /// Whether what a remat computes again was recorded in both programs, and is computed again in
  /// one of them: then it follows from no other difference.
  bool recomputes_common_ops(const GraphDescriptor& graph, ValueId barrier) const {
    const auto label = [&](ValueId id) {
      return std::tuple(graph[id].op.number(), graph[id].origin);
    };
    const auto& to_other = graphs_.to_other(graph);
    const GraphDescriptor& other = graphs_.other(graph);
    for (ValueId id = 0; id < other.size(); ++id)
      if (is_remat(other, id) && other.line(id) == graph.line(barrier)) return false;
    std::set<std::tuple<int, std::uint32_t>> common;
    for (ValueId id = 0; id < barrier; ++id)
      if (!graph[id].gradient && !is_leaf(graph, id) && to_other[index_of(id)] != kNoValue)
        common.insert(label(id));
    return std::ranges::any_of(added_in(graph), [&](ValueId id) {
      return id > barrier && graph[id].gradient && common.contains(label(id)) &&
             std::ranges::find(graph.operands(id), barrier) != graph.operands(id).end();
    });
  }

  /// What only this graph has.
  const std::vector<ValueId>& added_in(const GraphDescriptor& graph) const {
    return graphs_.is_now(graph) ? added_ : removed_;
  }

  // Order.

  /// The same ops one after the other on other lines, in another order.
  void tell_changed_places() {
    const auto own = [](const GraphDescriptor& graph, const std::vector<ValueId>& ids) {
      std::vector<ValueId> out;
      std::ranges::copy_if(ids, std::back_inserter(out),
                           [&](ValueId id) { return !is_leaf(graph, id) && !graph[id].gradient; });
      return out;
    };
    const std::vector<ValueId> went = own(old_, removed_), came = own(now_, added_);
    const auto ops = [](const GraphDescriptor& graph, const std::vector<ValueId>& ids) {
      std::vector<int> out;
      out.reserve(ids.size());
      for (const ValueId id : ids) out.push_back(graph[id].op.number());
      return out;
    };
    std::vector<int> before = ops(old_, went), after = ops(now_, came);
    if (only_liveness_ || before == after) return;
    std::ranges::sort(before);
    std::ranges::sort(after);
    if (before != after) return;
    for (Difference& difference : out_) difference.derived = true;
    const auto list = [](const GraphDescriptor& graph, const std::vector<ValueId>& ids) {
      std::vector<std::string> out;
      out.reserve(ids.size());
      for (const ValueId id : ids) out.push_back(describe(graph, id));
      return fmt::format("{}", fmt::join(out, ", "));
    };
    out_.push_back({.cause = Cause::kOpOrder,
                    .subject = "ops changed places",
                    .from = list(old_, went),
                    .to = list(now_, came),
                    .line = now_.line(came.front()),
                    .scope = now_.scope(came.front()),
                    .remedy = remedy_of(Cause::kOpAdded)});
  }

  void add_moved() {
    if (moved_.empty()) return;
    const auto is_told = [&](ValueId id) { return !is_leaf(now_, id) && !now_[id].gradient; };
    auto told = std::ranges::find_if(moved_, is_told);
    if (told == moved_.end())
      told = std::ranges::find_if_not(moved_, [&](ValueId id) { return is_leaf(now_, id); });
    const ValueId id = told == moved_.end() ? moved_.front() : *told;
    Difference difference{.cause = Cause::kOpOrder, .subject = describe(now_, id)};
    difference.to = moved_.size() == 1
                        ? "was recorded in another place"
                        : fmt::format("and {} more {} recorded in another place", moved_.size() - 1,
                                      moved_.size() == 2 ? "were" : "ops were");
    difference.line = now_.line(id);
    difference.scope = now_.scope(id);
    difference.gradient = now_[id].gradient;
    // Inputs and numbers stand where they are first used.
    // Of a line with other ops, too, those of both graphs may be mistaken for each other.
    const auto has_line = [&](const GraphDescriptor& graph, const std::vector<ValueId>& ids) {
      return std::ranges::any_of(ids, [&](ValueId each) {
        return !graph[each].gradient && !is_leaf(graph, each) &&
               graph.line(each) == difference.line;
      });
    };
    difference.derived = has_line(now_, added_) || has_line(old_, removed_) || told == moved_.end();
    out_.push_back(std::move(difference));
  }

  // Outputs.

  void compare_outputs() {
    for (const std::size_t i : extra_) {
      const ValueId id = now_.outputs()[i];
      add_output(now_, id, "is now an output" + holder(now_, i), came_with_op(now_, id));
    }
    for (const std::size_t i : missing_) {
      const ValueId id = old_.outputs()[i];
      add_output(old_, id, "is no longer an output: nothing holds it any more",
                 came_with_op(old_, id));
    }
    if (!extra_.empty() || !missing_.empty()) return;
    const auto same = [&](ValueId now, ValueId old) {
      return alignment_.to_old[index_of(now)] == old;
    };
    if (!std::ranges::equal(now_.outputs(), old_.outputs(), same)) {
      add_output(now_, now_.outputs().front(), "and the other outputs were made in another order",
                 true);
      out_.back().remedy = kOutputOrderRemedy;
      out_.back().derived =
          out_.back().derived || !moved_.empty() || has_root(leaves_, Cause::kOpOrder);
    } else {
      compare_updates();
    }
  }

  static std::string holder(const GraphDescriptor& graph, std::size_t output) {
    const std::vector<std::string>& held = graph.context().held;
    return output < held.size() && !held[output].empty() ? ", held by " + held[output] : "";
  }

  /// Whether only this program recorded it.
  bool came_with_op(const GraphDescriptor& graph, ValueId id) const {
    return graphs_.to_other(graph)[index_of(id)] == kNoValue &&
           !recorded_.is_dropped_in_other(graph, id);
  }

  /// `with_op`: its op came or went, too, or moved.
  void add_output(const GraphDescriptor& graph, ValueId id, std::string what, bool with_op) {
    Difference difference{.cause = Cause::kOutputSet, .subject = describe(graph, id)};
    difference.to = std::move(what);
    difference.line = graph.line(id);
    difference.scope = graph.scope(id);
    difference.gradient = graph[id].gradient;
    const bool others = !added_.empty() || !removed_.empty() || !moved_.empty();
    difference.derived = (((with_op && others) || (ops_differ() && !is_one_more(graph, with_op))) &&
                          !only_liveness_) ||
                         is_next_value_of_mode(graph, id);
    out_.push_back(std::move(difference));
  }

  /// Whether it is the next value of a variable which the mode changes, or not.
  bool is_next_value_of_mode(const GraphDescriptor& graph, ValueId output) const {
    return std::ranges::any_of(graph.updates(), [&](const Update& update) {
      const ValueId variable = graph.inputs()[static_cast<std::size_t>(update.input)];
      return graph.outputs()[static_cast<std::size_t>(update.output)] == output &&
             (mode_.changes_updates() || mode_.changes_keeper_of(graph.input(variable).name));
    });
  }

  /// Whether one of a graph's outputs stands for none of the other graph: its value is computed
  /// there, too, and there are fewer.
  bool is_one_more(const GraphDescriptor& graph, bool with_op) const {
    const bool now = graphs_.is_now(graph);
    return !with_op && (now ? extra_ : missing_).size() > (now ? missing_ : extra_).size();
  }

  /// The same outputs, but of other variables the next values.
  void compare_updates() {
    const auto variables = [](const GraphDescriptor& graph) {
      std::map<std::int32_t, ValueId> out;
      for (const Update& update : graph.updates())
        out[update.output] = graph.inputs()[static_cast<std::size_t>(update.input)];
      return out;
    };
    const std::map<std::int32_t, ValueId> before = variables(old_);
    const std::map<std::int32_t, ValueId> after = variables(now_);
    for (const auto& [output, variable] : after) {
      const auto found = before.find(output);
      if (found != before.end() && found->second == alignment_.to_old[index_of(variable)]) continue;
      add_output(now_, now_.outputs()[static_cast<std::size_t>(output)],
                 fmt::format("is now the next value of {}", describe(now_, variable)), false);
      // What is an input in one graph only is told as such.
      if (alignment_.to_old[index_of(variable)] == kNoValue) out_.back().derived = true;
    }
    for (const auto& [output, variable] : before) {
      if (after.contains(output)) continue;
      add_output(now_, now_.outputs()[static_cast<std::size_t>(output)],
                 fmt::format("is no longer the next value of {}", describe(old_, variable)), false);
      if (alignment_.to_new[index_of(variable)] == kNoValue) out_.back().derived = true;
    }
  }

  const Comparison& graphs_;
  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  const Alignment& alignment_;
  const RecordedOps& recorded_;
  const ModeChange& mode_;
  const std::vector<Difference>& leaves_;
  std::vector<ValueId> added_;
  std::vector<ValueId> removed_;
  std::vector<ValueId> moved_;
  std::vector<std::size_t> extra_;    ///< outputs of the new graph alone, by place
  std::vector<std::size_t> missing_;  ///< of the old one alone
  /// The program recorded as much as before: what differs is what was still held at the cut, and
  /// what is computed for that.
  bool only_liveness_ = false;
  std::vector<Difference> out_;
};

}  // namespace

std::vector<Difference> compare_structure(const Comparison& graphs, const RecordedOps& recorded,
                                          const ModeChange& mode,
                                          const std::vector<Difference>& leaves) {
  return StructureComparison(graphs, recorded, mode, leaves).run();
}

}  // namespace lockstep
