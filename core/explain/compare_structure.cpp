#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/explain/differences.h"
#include "core/explain/op_groups.h"
#include "core/explain/remedies.h"

namespace lockstep {
namespace {

class StructureComparison {
 public:
  StructureComparison(const Comparison& graphs, const std::vector<Difference>& leaves)
      : old_(graphs.old), now_(graphs.now), alignment_(graphs.alignment), leaves_(leaves) {
    added_ = unmatched(alignment_.to_old);
    removed_ = unmatched(alignment_.to_new);
    for (ValueId id = 0; id < now_.size(); ++id)
      if (alignment_.moved[index_of(id)]) moved_.push_back(id);
    find_outputs();
    only_liveness_ = now_.context().recorded != 0 &&
                     now_.context().recorded == old_.context().recorded &&
                     none_needed(now_, added_, extra_) && none_needed(old_, removed_, missing_);
  }

  std::vector<Difference> run() {
    const std::vector<OpGroup> came = group_ops(now_, added_);
    const std::vector<OpGroup> went = group_ops(old_, removed_);
    add_inputs(now_, added_, came, "is a new input");
    add_inputs(old_, removed_, went, "is no longer an input");
    add_ops(Cause::kOpAdded, now_, added_, came, "was added", "were added");
    add_ops(Cause::kOpRemoved, old_, removed_, went, "is gone", "are gone");
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

  /// Whether lines recorded other ops: what they made is held, or assigned, instead.
  bool ops_differ() const {
    const auto any = [](const GraphDescriptor& graph, const std::vector<ValueId>& ids) {
      return std::ranges::any_of(
          ids, [&](ValueId id) { return !is_leaf(graph, id) && !graph[id].gradient; });
    };
    return any(now_, added_) || any(old_, removed_);
  }

  bool has_leaf(Cause cause) const {
    return std::ranges::any_of(leaves_,
                               [&](const Difference& d) { return d.cause == cause && !d.derived; });
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

  void add_inputs(const GraphDescriptor& graph, const std::vector<ValueId>& ids,
                  const std::vector<OpGroup>& groups, const char* what) {
    std::set<std::string> lines;  // that were told
    for (const ValueId id : ids) {
      if (!graph.is_input(id)) continue;
      const ValueId user = first_user(graph, id);
      Difference difference{.cause = Cause::kInputs, .subject = describe(graph, id), .to = what};
      if (!graph.input(id).name.empty()) difference.subject += " " + graph.type(id);
      difference.derived =
          only_liveness_ || comes_with_ops(graph, id, user, groups) || is_part(graph, user);
      if (graph[id].kind == InputKind::kScalar) difference.remedy = remedy_of(Cause::kConstant);
      if (user != kNoValue) {
        difference.to += " of " + describe(graph, user);
        if (graph.is_update(user)) difference.remedy = kUpdateRemedy;
        difference.line = graph.line(user);
        difference.scope = graph.scope(user);
        // Of what came with ops of a line the first is told.
        const bool with_ops =
            (&graph == &now_ ? alignment_.to_old : alignment_.to_new)[index_of(user)] == kNoValue;
        if (!lines.insert(difference.line).second && with_ops) difference.derived = true;
      }
      out_.push_back(std::move(difference));
    }
  }

  /// Whether it is one of a list whose length is told.
  bool is_part(const GraphDescriptor& graph, ValueId user) const {
    if (user == kNoValue || graph[user].op != Op::kConcatenate) return false;
    const bool now = &graph == &now_;
    const ValueId other = (now ? alignment_.to_old : alignment_.to_new)[index_of(user)];
    return other != kNoValue && (now ? old_ : now_)[other].operands != graph[user].operands;
  }

  /// Whether an input is there, or not, because of ops: they follow from others themselves, or it
  /// is a number of the host's, or what random numbers are drawn by.
  static bool comes_with_ops(const GraphDescriptor& graph, ValueId id, ValueId user,
                             const std::vector<OpGroup>& groups) {
    const auto group = std::ranges::find_if(groups, [&](const OpGroup& each) {
      return std::ranges::find(each.ids, user) != each.ids.end();
    });
    if (group == groups.end()) return false;
    return group->follows || graph[id].kind == InputKind::kScalar ||
           graph[user].op == Op::kRandomBits;
  }

  // Ops that came or went.

  void add_ops(Cause cause, const GraphDescriptor& graph, const std::vector<ValueId>& ids,
               const std::vector<OpGroup>& groups, const char* one, const char* many) {
    const bool derived = ops_follow(graph, ids);
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
      if (is_remat(graph, id)) difference.remedy = kRematRemedy;
      if (graph[id].op == Op::kRandomBits) difference.remedy = kDropoutRemedy;
      if (graph.is_update(id)) difference.remedy = kUpdateRemedy;
      difference.derived = derived || group.follows || only_leaves(graph, group) ||
                           converts(graph, group) || begins_with_dtype(graph, group) ||
                           restores_shape(graph, group) || follows_input(graph, group);
      if (!difference.derived && fits_sizes(graph, group))
        difference.derived = difference.perhaps = true;
      out_.push_back(std::move(difference));
    }
  }

  static bool is_remat(const GraphDescriptor& graph, ValueId id) {
    return graph[id].op == Op::kOptimizationBarrier && graph[id].gradient;
  }

  /// Constants and the like come and go with the ops that they feed, with their numbers, and with
  /// inputs that stand in their places.
  bool only_leaves(const GraphDescriptor& graph, const OpGroup& group) const {
    const bool numbers =
        std::ranges::find(leaves_, Cause::kConstant, &Difference::cause) != leaves_.end() ||
        std::ranges::any_of(added_, [&](ValueId id) { return now_.is_input(id); }) ||
        std::ranges::any_of(removed_, [&](ValueId id) { return old_.is_input(id); });
    const bool others =
        std::ranges::any_of(added_, [&](ValueId id) { return !is_leaf(now_, id); }) ||
        std::ranges::any_of(removed_, [&](ValueId id) { return !is_leaf(old_, id); });
    return is_leaf(graph, group.told) && (numbers || others || has_leaf(Cause::kInputShape));
  }

  /// Conversions come and go with the dtypes of inputs, with other ops that have another one, and
  /// with conversions before them.
  bool converts(const GraphDescriptor& graph, const OpGroup& group) const {
    const auto is_conversion = [](const GraphDescriptor& of, ValueId id) {
      return of[id].op == Op::kConvert || is_leaf(of, id);
    };
    if (graph[group.told].gradient || !std::ranges::all_of(group.ids, [&](ValueId id) {
          return graph[id].gradient || is_conversion(graph, id);
        }))
      return false;
    const auto others = [&](const GraphDescriptor& of, const std::vector<ValueId>& ids) {
      return std::ranges::any_of(
          ids, [&](ValueId id) { return !of[id].gradient && !is_conversion(of, id); });
    };
    return has_leaf(Cause::kInputDtype) || others(now_, added_) || others(old_, removed_) ||
           std::ranges::all_of(group.ids,
                               [&](ValueId id) {
                                 return graph[id].gradient || is_leaf(graph, id) ||
                                        converts_other_dtype(graph, id);
                               }) ||
           place_takes_other_dtype(graph, group);
  }

  /// Whether a loop over inputs, as that of an update over parameters, has one more or less, of
  /// which another op is told.
  bool follows_input(const GraphDescriptor& graph, const OpGroup& group) const {
    const std::vector<ValueId>& to_other = &graph == &now_ ? alignment_.to_old : alignment_.to_new;
    const auto is_told = [&](ValueId operand) {
      if (!graph.is_input(operand) || to_other[index_of(operand)] != kNoValue) return false;
      const ValueId user = first_user(graph, operand);
      return user != kNoValue && to_other[index_of(user)] != kNoValue;
    };
    const bool takes = std::ranges::any_of(group.ids, [&](ValueId id) {
      return !graph[id].gradient && std::ranges::any_of(graph.operands(id), is_told);
    });
    if (!takes) return false;
    for (ValueId id = 0; id < graph.size(); ++id)
      if (to_other[index_of(id)] != kNoValue && !is_leaf(graph, id) && !graph[id].gradient &&
          graph.line(id) == graph.line(group.told))
        return true;
    return false;
  }

  /// Whether what came converts an input that has another dtype, as an `if` on the dtype records.
  bool begins_with_dtype(const GraphDescriptor& graph, const OpGroup& group) const {
    const std::vector<ValueId>& to_other = &graph == &now_ ? alignment_.to_old : alignment_.to_new;
    const GraphDescriptor& other = &graph == &now_ ? old_ : now_;
    return std::ranges::any_of(group.ids, [&](ValueId id) {
      if (graph[id].op != Op::kConvert) return false;
      const ValueId operand = graph.operands(id)[0];
      const ValueId theirs = to_other[index_of(operand)];
      return graph.is_input(operand) && theirs != kNoValue &&
             graph[operand].dtype != other[theirs].dtype;
    });
  }

  /// Whether what came gives a value the shape, or the rank, that it has in the other graph without
  /// that: a reshape() to the shape that is there records nothing.
  bool restores_shape(const GraphDescriptor& graph, const OpGroup& group) const {
    if (!has_leaf(Cause::kInputShape)) return false;
    const std::vector<ValueId>& to_other = &graph == &now_ ? alignment_.to_old : alignment_.to_new;
    const GraphDescriptor& other = &graph == &now_ ? old_ : now_;
    return std::ranges::any_of(group.ids, [&](ValueId id) {
      if (info_of(graph[id].op).op_class != OpClass::kMovement || graph[id].gradient) return false;
      const ValueId operand = graph.operands(id)[0];
      const ValueId theirs = to_other[index_of(operand)];
      if (theirs == kNoValue || std::ranges::equal(graph.sizes(operand), other.sizes(theirs)))
        return false;
      return std::ranges::equal(graph.sizes(id), other.sizes(theirs)) ||
             (graph[operand].rank != other[theirs].rank && graph[id].rank == other[theirs].rank);
    });
  }

  /// Whether it fills up or cuts values that have another size in the other graph, or cuts them to
  /// such a size of an input: by amounts that may follow from the size.
  bool fits_sizes(const GraphDescriptor& graph, const OpGroup& group) const {
    if (!has_leaf(Cause::kInputShape)) return false;
    const std::vector<ValueId>& to_other = &graph == &now_ ? alignment_.to_old : alignment_.to_new;
    const auto fits = [&](ValueId id) {
      return graph[id].op == Op::kPad || graph[id].op == Op::kSlice;
    };
    const std::set<std::int64_t> changed = changed_sizes(graph);
    const auto follows = [&](ValueId id) {
      if (graph[id].gradient || is_leaf(graph, id)) return true;
      if (!fits(id)) return false;
      ValueId source = graph.operands(id)[0];
      while (to_other[index_of(source)] == kNoValue && fits(source))
        source = graph.operands(source)[0];
      const std::set<std::size_t> others = changed_dimensions(graph, source);
      const auto before = graph.sizes(source);
      const auto after = graph.sizes(id);
      for (std::size_t i = 0; i < after.size(); ++i)
        if (after[i] != before[i] && !others.contains(i) && !changed.contains(after[i]))
          return false;
      return true;
    };
    return fits(group.told) && std::ranges::all_of(group.ids, follows);
  }

  /// Of a value that both graphs have.
  std::set<std::size_t> changed_dimensions(const GraphDescriptor& graph, ValueId id) const {
    const bool now = &graph == &now_;
    const ValueId theirs = (now ? alignment_.to_old : alignment_.to_new)[index_of(id)];
    std::set<std::size_t> out;
    if (theirs == kNoValue) return out;
    const auto sizes = graph.sizes(id);
    const auto others = (now ? old_ : now_).sizes(theirs);
    for (std::size_t i = 0; i < sizes.size() && sizes.size() == others.size(); ++i)
      if (sizes[i] != others[i]) out.insert(i);
    return out;
  }

  /// Of inputs, in this graph.
  std::set<std::int64_t> changed_sizes(const GraphDescriptor& graph) const {
    std::set<std::int64_t> out;
    for (const ValueId id : graph.inputs())
      for (const std::size_t i : changed_dimensions(graph, id)) out.insert(graph.sizes(id)[i]);
    return out;
  }

  /// Whether it converts a value that has another dtype in the other graph.
  bool converts_other_dtype(const GraphDescriptor& graph, ValueId id) const {
    const bool now = &graph == &now_;
    const ValueId operand = graph.operands(id)[0];
    const ValueId theirs = (now ? alignment_.to_old : alignment_.to_new)[index_of(operand)];
    return theirs != kNoValue && graph[operand].dtype != (now ? old_ : now_)[theirs].dtype;
  }

  /// Whether an op that both graphs have of the group's place takes another dtype than before, and
  /// not because of the group: a layer converts its parameters to what it is given.
  bool place_takes_other_dtype(const GraphDescriptor& graph, const OpGroup& group) const {
    const bool now = &graph == &now_;
    const GraphDescriptor& other = now ? old_ : now_;
    for (ValueId id = 0; id < graph.size(); ++id) {
      const ValueId theirs = (now ? alignment_.to_old : alignment_.to_new)[index_of(id)];
      if (theirs == kNoValue || graph[id].gradient || graph.line(id) != graph.line(group.told) ||
          graph.scope(id) != graph.scope(group.told))
        continue;
      const auto operands = graph.operands(id);
      const auto others = other.operands(theirs);
      for (std::size_t i = 0; i < std::min(operands.size(), others.size()); ++i)
        if (graph[operands[i]].dtype != other[others[i]].dtype &&
            std::ranges::find(group.ids, operands[i]) == group.ids.end())
          return true;
    }
    return false;
  }

  bool ops_follow(const GraphDescriptor& graph, const std::vector<ValueId>& ids) const {
    if (only_liveness_) return true;
    if (!has_leaf(Cause::kInputShape)) return false;
    // A loop over a dimension: more or fewer of the ops that both have.
    const GraphDescriptor& other = &graph == &now_ ? old_ : now_;
    const std::unordered_set<std::uint64_t> known(other.labels().begin(), other.labels().end());
    return std::ranges::all_of(ids, [&](ValueId id) {
      return !graph.line(id).empty() && known.contains(graph.labels()[index_of(id)]);
    });
  }

  // Order.

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
    const auto recorded = [](const GraphDescriptor& graph, const std::vector<ValueId>& ids) {
      return std::ranges::any_of(ids, [&](ValueId each) { return !graph[each].gradient; });
    };
    difference.derived = recorded(now_, added_) || recorded(old_, removed_) || told == moved_.end();
    out_.push_back(std::move(difference));
  }

  // Outputs.

  void compare_outputs() {
    for (const std::size_t i : extra_) {
      const ValueId id = now_.outputs()[i];
      add_output(now_, id, "is now an output" + holder(now_, i),
                 alignment_.to_old[index_of(id)] == kNoValue);
    }
    for (const std::size_t i : missing_) {
      const ValueId id = old_.outputs()[i];
      add_output(old_, id, "is no longer an output: nothing holds it any more",
                 alignment_.to_new[index_of(id)] == kNoValue);
    }
    if (!extra_.empty() || !missing_.empty()) return;
    const auto same = [&](ValueId now, ValueId old) {
      return alignment_.to_old[index_of(now)] == old;
    };
    if (!std::ranges::equal(now_.outputs(), old_.outputs(), same)) {
      add_output(now_, now_.outputs().front(), "and the other outputs were made in another order",
                 true);
      out_.back().remedy = kOutputOrderRemedy;
      out_.back().derived = out_.back().derived || !moved_.empty();
    } else {
      compare_updates();
    }
  }

  static std::string holder(const GraphDescriptor& graph, std::size_t output) {
    const std::vector<std::string>& held = graph.context().held;
    return output < held.size() && !held[output].empty() ? ", held by " + held[output] : "";
  }

  /// `with_op`: its op came or went, too, or moved.
  void add_output(const GraphDescriptor& graph, ValueId id, std::string what, bool with_op) {
    Difference difference{.cause = Cause::kOutputSet, .subject = describe(graph, id)};
    difference.to = std::move(what);
    difference.line = graph.line(id);
    difference.scope = graph.scope(id);
    difference.gradient = graph[id].gradient;
    const bool others = !added_.empty() || !removed_.empty() || !moved_.empty();
    difference.derived =
        (((with_op && others) || ops_differ()) && !only_liveness_) || has_leaf(Cause::kOpOrder);
    out_.push_back(std::move(difference));
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
    }
    for (const auto& [output, variable] : before) {
      if (after.contains(output)) continue;
      add_output(now_, now_.outputs()[static_cast<std::size_t>(output)],
                 fmt::format("is no longer the next value of {}", describe(old_, variable)), false);
    }
  }

  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  const Alignment& alignment_;
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

std::vector<Difference> compare_structure(const Comparison& graphs,
                                          const std::vector<Difference>& leaves) {
  return StructureComparison(graphs, leaves).run();
}

}  // namespace lockstep
