#include "core/explain/group_rules.h"

#include <algorithm>

#include "core/explain/literals.h"

namespace lockstep {
namespace {

std::unordered_map<std::uint64_t, std::int64_t> count_labels(const GraphDescriptor& graph) {
  std::unordered_map<std::uint64_t, std::int64_t> out;
  for (const std::uint64_t label : graph.labels()) ++out[label];
  return out;
}

}  // namespace

GroupRules::GroupRules(const Comparison& graphs, const ModeChange& mode,
                       const std::vector<Difference>& leaves, const std::vector<ValueId>& added,
                       const std::vector<ValueId>& removed)
    : graphs_(graphs),
      old_(graphs.old),
      now_(graphs.now),
      mode_(mode),
      leaves_(leaves),
      added_(added),
      removed_(removed),
      sizes_differ_(has_root(leaves, Cause::kInputShape)) {
  if (!sizes_differ_) return;
  old_counts_ = count_labels(old_);
  now_counts_ = count_labels(now_);
  old_sized_lines_ = find_sized_lines(old_, removed);
  now_sized_lines_ = find_sized_lines(now_, added);
}

/// The lines with ops that only this graph has of which one takes a value of another size than in
/// the other graph, or what such lines made of it.
std::set<std::string> GroupRules::find_sized_lines(const GraphDescriptor& graph,
                                                   const std::vector<ValueId>& own) const {
  std::set<std::string> lines;
  for (const ValueId id : own)
    if (!is_leaf(graph, id)) lines.insert(graph.line(id));
  std::set<std::string> out;
  std::vector<bool> takes_sized(index_of(graph.size()), false);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const bool takes = std::ranges::any_of(graph.operands(id), [&](ValueId operand) {
      return takes_sized[index_of(operand)] || !changed_dimensions(graph, operand).empty();
    });
    if (!takes || !lines.contains(graph.line(id))) continue;
    takes_sized[index_of(id)] = true;
    out.insert(graph.line(id));
  }
  return out;
}

Follows GroupRules::judge(const GraphDescriptor& graph, const OpGroup& group) const {
  if (only_leaves(graph, group) || converts(graph, group) || begins_with_dtype(graph, group) ||
      restores_shape(graph, group) || follows_input(graph, group) || is_loop(graph, group) ||
      mode_.explains_ops(graph, group))
    return Follows::kYes;
  return fits_sizes(graph, group) ? Follows::kPerhaps : Follows::kNo;
}

/// Whether such a value is kept for itself, and the other graph keeps none in its place.
bool GroupRules::is_kept(const GraphDescriptor& graph, const OpGroup& group) const {
  const auto kept = [&](const GraphDescriptor& of) {
    std::vector<ValueId> out;
    for (const ValueId id : of.outputs())
      if (is_leaf(of, id) && !of.is_input(id) && !of[id].gradient &&
          graphs_.to_other(of)[index_of(id)] == kNoValue)
        out.push_back(id);
    return out;
  };
  return kept(graphs_.other(graph)).empty() && std::ranges::any_of(kept(graph), [&](ValueId id) {
           return first_user(graph, id) == kNoValue &&
                  std::ranges::find(group.ids, id) != group.ids.end();
         });
}

/// Constants and the like come and go with the ops that they feed, with their numbers, and with
/// inputs that stand in their places.
bool GroupRules::only_leaves(const GraphDescriptor& graph, const OpGroup& group) const {
  if (is_kept(graph, group)) return false;
  const bool numbers =
      std::ranges::find(leaves_, Cause::kConstant, &Difference::cause) != leaves_.end() ||
      std::ranges::any_of(added_, [&](ValueId id) { return now_.is_input(id); }) ||
      std::ranges::any_of(removed_, [&](ValueId id) { return old_.is_input(id); });
  const bool others = std::ranges::any_of(added_, [&](ValueId id) { return !is_leaf(now_, id); }) ||
                      std::ranges::any_of(removed_, [&](ValueId id) { return !is_leaf(old_, id); });
  return is_leaf(graph, group.told) &&
         (numbers || others || sizes_differ_ || are_shared(graph, group));
}

/// Whether the other graph takes the same numbers where this one takes the group's: equal ones of
/// one shape are recorded once.
bool GroupRules::are_shared(const GraphDescriptor& graph, const OpGroup& group) const {
  const GraphDescriptor& theirs_of = graphs_.other(graph);
  const auto is_one_there = [&](ValueId id, ValueId user) {
    const ValueId theirs = graphs_.to_other(graph)[index_of(user)];
    const auto operands = graph.operands(user);
    if (theirs == kNoValue || theirs_of.operands(theirs).size() != operands.size()) return false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] != id) continue;
      const ValueId number = constant_of(theirs_of, theirs_of.operands(theirs)[i]);
      if (number == kNoValue ||
          theirs_of.literal(number).digest != graph.literal(constant_of(graph, id)).digest)
        return false;
    }
    return true;
  };
  for (const ValueId id : group.ids) {
    if (constant_of(graph, id) == kNoValue) return false;
    for (ValueId user = id + 1; user < graph.size(); ++user)
      if (std::ranges::find(graph.operands(user), id) != graph.operands(user).end() &&
          std::ranges::find(group.ids, user) == group.ids.end() && !is_one_there(id, user))
        return false;
  }
  return true;
}

/// Conversions come and go with the dtypes of what they convert, or of what is taken with it, and
/// with ops that they were recorded for.
bool GroupRules::converts(const GraphDescriptor& graph, const OpGroup& group) const {
  const auto is_conversion = [&](ValueId id) {
    return graph[id].gradient || graph[id].op == Op::kConvert || is_leaf(graph, id);
  };
  // There and back: it rounds, which no dtype asks for, unless the line begins with another dtype.
  const bool begins = std::ranges::any_of(group.ids, [&](ValueId id) {
    return graph[id].op == Op::kConvert && has_other_dtype(graph, graph.operands(id)[0]);
  });
  const bool rounds = !begins && std::ranges::any_of(group.ids, [&](ValueId id) {
    if (graph[id].op != Op::kConvert || graph[id].gradient) return false;
    const ValueId from = graph.operands(id)[0];
    return graph[from].op == Op::kConvert &&
           std::ranges::find(group.ids, from) != group.ids.end() &&
           graph[graph.operands(from)[0]].dtype == graph[id].dtype;
  });
  return !rounds && !graph[group.told].gradient && std::ranges::all_of(group.ids, is_conversion) &&
         (touches_other_dtype(graph, group) || place_takes_other_dtype(graph, group) ||
          is_next_of_other_dtype(graph, group));
}

/// Whether it makes next values of inputs that have another dtype, which these must have, too.
bool GroupRules::is_next_of_other_dtype(const GraphDescriptor& graph, const OpGroup& group) const {
  return std::ranges::any_of(graph.updates(), [&](const Update& update) {
    const ValueId input = graph.inputs()[static_cast<std::size_t>(update.input)];
    const ValueId next = graph.outputs()[static_cast<std::size_t>(update.output)];
    return has_other_dtype(graph, input) && std::ranges::find(group.ids, next) != group.ids.end();
  });
}

/// Whether a loop over inputs, as that of an update over parameters, has one more or less, of
/// which another op is told.
bool GroupRules::follows_input(const GraphDescriptor& graph, const OpGroup& group) const {
  const std::vector<ValueId>& to_theirs = graphs_.to_other(graph);
  const auto is_told = [&](ValueId operand) {
    if (!graph.is_input(operand) || to_theirs[index_of(operand)] != kNoValue) return false;
    const ValueId user = first_user(graph, operand);
    return user != kNoValue && to_theirs[index_of(user)] != kNoValue;
  };
  const bool takes = std::ranges::any_of(group.ids, [&](ValueId id) {
    return !graph[id].gradient && std::ranges::any_of(graph.operands(id), is_told);
  });
  if (!takes) return false;
  for (ValueId id = 0; id < graph.size(); ++id)
    if (to_theirs[index_of(id)] != kNoValue && !is_leaf(graph, id) && !graph[id].gradient &&
        graph.line(id) == graph.line(group.told))
      return true;
  return false;
}

/// Whether what came converts an input that has another dtype, as an `if` on the dtype records.
bool GroupRules::begins_with_dtype(const GraphDescriptor& graph, const OpGroup& group) const {
  const std::vector<ValueId>& to_theirs = graphs_.to_other(graph);
  const GraphDescriptor& theirs_of = graphs_.other(graph);
  return std::ranges::any_of(group.ids, [&](ValueId id) {
    if (graph[id].op != Op::kConvert) return false;
    const ValueId operand = graph.operands(id)[0];
    const ValueId theirs = to_theirs[index_of(operand)];
    return graph.is_input(operand) && theirs != kNoValue &&
           graph[operand].dtype != theirs_of[theirs].dtype;
  });
}

/// Whether what came gives a value the shape, or the rank, that it has in the other graph without
/// that: a reshape() to the shape that is there records nothing.
bool GroupRules::restores_shape(const GraphDescriptor& graph, const OpGroup& group) const {
  if (!sizes_differ_) return false;
  const std::vector<ValueId>& to_theirs = graphs_.to_other(graph);
  const GraphDescriptor& theirs_of = graphs_.other(graph);
  return std::ranges::any_of(group.ids, [&](ValueId id) {
    if (info_of(graph[id].op).op_class != OpClass::kMovement || graph[id].gradient) return false;
    const ValueId operand = graph.operands(id)[0];
    const ValueId theirs = to_theirs[index_of(operand)];
    if (theirs == kNoValue || std::ranges::equal(graph.sizes(operand), theirs_of.sizes(theirs)))
      return false;
    return std::ranges::equal(graph.sizes(id), theirs_of.sizes(theirs)) ||
           (graph[operand].rank != theirs_of[theirs].rank &&
            graph[id].rank == theirs_of[theirs].rank);
  });
}

/// Whether it fills up or cuts values that have another size in the other graph, or cuts them to
/// such a size of an input: by amounts that may follow from the size.
bool GroupRules::fits_sizes(const GraphDescriptor& graph, const OpGroup& group) const {
  if (!sizes_differ_) return false;
  const std::vector<ValueId>& to_theirs = graphs_.to_other(graph);
  const auto fits = [&](ValueId id) {
    return graph[id].op == Op::kPad || graph[id].op == Op::kSlice;
  };
  const std::set<std::int64_t> changed = changed_sizes(graph);
  const auto follows = [&](ValueId id) {
    if (graph[id].gradient || is_leaf(graph, id)) return true;
    if (!fits(id)) return false;
    ValueId source = graph.operands(id)[0];
    while (to_theirs[index_of(source)] == kNoValue && fits(source))
      source = graph.operands(source)[0];
    const std::set<std::size_t> others = changed_dimensions(graph, source);
    const auto before = graph.sizes(source);
    const auto after = graph.sizes(id);
    for (std::size_t i = 0; i < after.size(); ++i)
      if (after[i] != before[i] && !others.contains(i) && !changed.contains(after[i])) return false;
    return true;
  };
  return fits(group.told) && std::ranges::all_of(group.ids, follows);
}

/// Of a value that both graphs have.
std::set<std::size_t> GroupRules::changed_dimensions(const GraphDescriptor& graph,
                                                     ValueId id) const {
  const ValueId theirs = graphs_.to_other(graph)[index_of(id)];
  std::set<std::size_t> out;
  if (theirs == kNoValue) return out;
  const auto sizes = graph.sizes(id);
  const auto others = graphs_.other(graph).sizes(theirs);
  for (std::size_t i = 0; i < sizes.size() && sizes.size() == others.size(); ++i)
    if (sizes[i] != others[i]) out.insert(i);
  return out;
}

/// Of inputs, in this graph.
std::set<std::int64_t> GroupRules::changed_sizes(const GraphDescriptor& graph) const {
  std::set<std::int64_t> out;
  for (const ValueId id : graph.inputs())
    for (const std::size_t i : changed_dimensions(graph, id)) out.insert(graph.sizes(id)[i]);
  return out;
}

/// Of a value that both graphs have.
bool GroupRules::has_other_dtype(const GraphDescriptor& graph, ValueId id) const {
  const ValueId theirs = graphs_.to_other(graph)[index_of(id)];
  return theirs != kNoValue && graph[id].dtype != graphs_.other(graph)[theirs].dtype;
}

/// Whether a conversion of the group takes a value of another dtype, or a result that only this
/// graph has, or is taken with one of these.
bool GroupRules::touches_other_dtype(const GraphDescriptor& graph, const OpGroup& group) const {
  const auto in_group = [&](ValueId id) {
    return std::ranges::find(group.ids, id) != group.ids.end();
  };
  // What is made of the group's results, and numbers, have their dtype because of it.
  std::vector<bool> made(index_of(graph.size()), false);
  const auto is_other = [&](ValueId id) {
    if (made[index_of(id)] || (is_leaf(graph, id) && !graph.is_input(id))) return false;
    const bool own = graphs_.to_other(graph)[index_of(id)] == kNoValue;
    // What is taken with the group's results may be converted because of it.
    return own ? graph[id].op != Op::kConvert : has_other_dtype(graph, id);
  };
  const auto is_new_conversion = [&](ValueId id) {
    return graph[id].op == Op::kConvert && graphs_.to_other(graph)[index_of(id)] == kNoValue;
  };
  bool found = false;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const auto operands = graph.operands(id);
    made[index_of(id)] = in_group(id) || std::ranges::any_of(operands, [&](ValueId operand) {
                           return made[index_of(operand)];
                         });
    const bool takes = std::ranges::any_of(operands, in_group);
    if (graph[id].gradient || (!takes && !in_group(id))) continue;
    found = found || std::ranges::any_of(operands, is_other) ||
            (in_group(id) && !takes && std::ranges::any_of(operands, is_new_conversion));
  }
  return found;
}

/// Whether an op that both graphs have of the group's place takes another dtype than before, and
/// not because of the group: a layer converts its parameters to what it is given.
bool GroupRules::place_takes_other_dtype(const GraphDescriptor& graph, const OpGroup& group) const {
  const GraphDescriptor& theirs_of = graphs_.other(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const ValueId theirs = graphs_.to_other(graph)[index_of(id)];
    if (theirs == kNoValue || graph[id].gradient || graph.line(id) != graph.line(group.told) ||
        graph.scope(id) != graph.scope(group.told))
      continue;
    const auto operands = graph.operands(id);
    const auto others = theirs_of.operands(theirs);
    for (std::size_t i = 0; i < std::min(operands.size(), others.size()); ++i)
      if (graph[operands[i]].dtype != theirs_of[others[i]].dtype &&
          std::ranges::find(group.ids, operands[i]) == group.ids.end())
        return true;
  }
  return false;
}

/// Whether these are ops of a loop over a dimension that has another size: they repeat as often as
/// it is long, and their line takes its elements.
bool GroupRules::is_loop(const GraphDescriptor& graph, const OpGroup& group) const {
  const std::set<std::string>& sized = graphs_.is_now(graph) ? now_sized_lines_ : old_sized_lines_;
  if (!sizes_differ_ || !sized.contains(graph.line(group.told))) return false;
  const Counts& here = graphs_.is_now(graph) ? now_counts_ : old_counts_;
  const Counts& there = graphs_.is_now(graph) ? old_counts_ : now_counts_;
  return std::ranges::all_of(group.ids, [&](ValueId id) {
    const std::uint64_t label = graph.labels()[index_of(id)];
    const auto known = there.find(label);
    if (graph.line(id).empty() || known == there.end()) return false;
    return is_leaf(graph, id) || graph[id].gradient ||
           repeats_as_often(graph, here.at(label), known->second);
  });
}

/// Whether a line repeats an op once, or a few times, for each element of a changed dimension, but
/// perhaps for the first ones.
bool GroupRules::repeats_as_often(const GraphDescriptor& graph, std::int64_t count,
                                  std::int64_t others) const {
  constexpr std::int64_t kMaxRepeats = 4;
  constexpr std::int64_t kSkipped = 2;
  for (const ValueId id : graph.inputs()) {
    for (const std::size_t i : changed_dimensions(graph, id)) {
      const std::int64_t size = graph.sizes(id)[i];
      const std::int64_t theirs =
          graphs_.other(graph).sizes(graphs_.to_other(graph)[index_of(id)])[i];
      const std::int64_t each = (count - others) / (size - theirs);
      if (each >= 1 && each <= kMaxRepeats && count - others == each * (size - theirs) &&
          count >= each * (size - kSkipped))
        return true;
    }
  }
  return false;
}

}  // namespace lockstep
