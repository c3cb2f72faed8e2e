#include "core/explain/mode_change.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/explain/remedies.h"

namespace lockstep {
namespace {

constexpr std::string_view kTraining = "training";

/// Of "training, bf16 and evaluation, f32": each.
std::set<std::string> modes_of(std::string_view text) {
  std::set<std::string> out;
  while (!text.empty()) {
    constexpr std::string_view kAnd = " and ";
    const std::size_t end = std::min(text.find(kAnd), text.size());
    out.emplace(text.substr(0, end));
    text.remove_prefix(std::min(end + kAnd.size(), text.size()));
  }
  return out;
}

/// What stands before the comma, or after it.
std::set<std::string> parts_of(const std::set<std::string>& modes, bool first) {
  std::set<std::string> out;
  for (const std::string& mode : modes) {
    const std::size_t comma = std::min(mode.find(", "), mode.size());
    out.insert(first ? mode.substr(0, comma) : mode.substr(std::min(comma + 2, mode.size())));
  }
  return out;
}

std::set<std::uint8_t> numbers_of(const GraphDescriptor& graph) {
  std::set<std::uint8_t> out;
  for (ValueId id = 0; id < graph.size(); ++id)
    if (!is_leaf(graph, id)) out.insert(graph[id].mode);
  return out;
}

/// "teacher" of "teacher.drop"; empty if there is none.
std::string_view parent_of(std::string_view scope) {
  const std::size_t end = scope.rfind('.');
  return end == std::string_view::npos ? std::string_view() : scope.substr(0, end);
}

/// The line of a mode that the other graph has not.
std::string line_of_new(const GraphDescriptor& graph, const std::set<std::string>& others) {
  for (const auto& [mode, line] : graph.context().mode_lines)
    if (!others.contains(mode)) return line;
  return "";
}

}  // namespace

std::set<std::string> purposes_of(std::string_view mode) {
  return parts_of(modes_of(mode), true);
}

ModeChange::ModeChange(const Comparison& graphs)
    : graphs_(graphs),
      before_(modes_of(graphs.old.context().mode)),
      now_(modes_of(graphs.now.context().mode)) {
  std::ranges::set_symmetric_difference(numbers_of(graphs.old), numbers_of(graphs.now),
                                        std::inserter(changed_, changed_.end()));
  note_places(graphs.old);
  note_places(graphs.now);
}

void ModeChange::note_places(const GraphDescriptor& graph) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kInput || !changed_.contains(graph[id].mode)) continue;
    places_.emplace(graph.line(id), graph.scope(id));
    modules_.insert(graph.scope(id));
  }
}

bool ModeChange::changes_dtypes() const {
  return parts_of(before_, false) != parts_of(now_, false);
}

bool ModeChange::changes_purpose() const {
  return parts_of(before_, true) != parts_of(now_, true);
}

bool ModeChange::changes_updates() const {
  const std::string training(kTraining);
  return parts_of(before_, true).contains(training) != parts_of(now_, true).contains(training);
}

bool ModeChange::in_changed_mode(const GraphDescriptor& graph, ValueId id) const {
  const std::string& scope = graph.scope(id);
  return changed_.contains(graph[id].mode) || places_.contains({graph.line(id), scope}) ||
         (!scope.empty() && modules_.contains(scope));
}

bool ModeChange::changes_keeper_of(std::string_view variable) const {
  const std::string_view keeper = parent_of(variable);
  return !keeper.empty() && modules_.contains(keeper);
}

bool ModeChange::is_called_elsewhere(const GraphDescriptor& graph, const OpGroup& group) const {
  const GraphDescriptor& other = graphs_.other(graph);
  const std::vector<ValueId>& to_other = graphs_.to_other(other);
  const auto is_own = [](const GraphDescriptor& of, ValueId id) {
    return !of[id].gradient && !is_leaf(of, id) && of[id].op != Op::kConvert;
  };
  std::vector<int> ops;
  for (const ValueId id : group.ids)
    if (is_own(graph, id)) ops.push_back(graph[id].op.number());
  if (ops.empty() || graph.scope(group.told).empty()) return false;
  std::map<std::string, std::vector<int>> lines;
  for (ValueId id = 0; id < other.size(); ++id)
    if (to_other[index_of(id)] == kNoValue && is_own(other, id) &&
        other.scope(id) == graph.scope(group.told) &&
        changed_.contains(other[id].mode) != changed_.contains(graph[group.told].mode))
      lines[other.line(id)].push_back(other[id].op.number());
  return std::ranges::any_of(lines, [&](const auto& line) { return line.second == ops; });
}

bool ModeChange::stands_in_changed_mode(const GraphDescriptor& graph, const OpGroup& group) const {
  const GraphDescriptor& other = graphs_.other(graph);
  const std::vector<ValueId>& to_other = graphs_.to_other(graph);
  const auto own = [&](ValueId id) { return !graph[id].gradient && !is_leaf(graph, id); };
  std::vector<bool> in_group(index_of(graph.size()), false);
  for (const ValueId id : group.ids) in_group[index_of(id)] = own(id);
  const std::string_view module = parent_of(graph.scope(group.told));
  bool any = false, all = true, of_module = false;
  const auto meet = [&](ValueId neighbour) {
    const ValueId theirs = to_other[index_of(neighbour)];
    if (!own(neighbour) || theirs == kNoValue) return;
    const bool changed = changed_.contains(other[theirs].mode);
    any = any || changed;
    all = all && changed;
    of_module =
        of_module || (changed && !module.empty() && parent_of(graph.scope(neighbour)) == module);
  };
  for (ValueId id = 0; id < graph.size(); ++id)
    for (const ValueId operand : graph.operands(id))
      if (in_group[index_of(id)] != in_group[index_of(operand)])
        meet(in_group[index_of(id)] ? operand : id);
  return (any && all) || of_module;
}

bool ModeChange::explains_ops(const GraphDescriptor& graph, const OpGroup& group) const {
  if (!any()) return false;
  if (is_called_elsewhere(graph, group)) return true;
  const auto own = [&](ValueId id) { return !graph[id].gradient && !is_leaf(graph, id); };
  // The update casts parameters for the next step.
  const auto casts = [&](ValueId id) {
    const bool in_mode = in_changed_mode(graph, id) || graph.scope(id).starts_with(kUpdateScope);
    return in_mode && (graph[id].op == Op::kConvert || is_stop_gradient(graph, id));
  };
  if (changes_dtypes() &&
      std::ranges::all_of(group.ids, [&](ValueId id) { return !own(id) || casts(id); }))
    return true;
  if (!changes_purpose()) return false;
  const std::vector<ValueId>& to_other = graphs_.to_other(graph);
  return std::ranges::any_of(group.ids, [&](ValueId id) {
    const auto takes = [&](auto what) { return std::ranges::any_of(graph.operands(id), what); };
    if (changes_updates() && !graph[id].gradient && takes([&](ValueId operand) {
          return graph[operand].gradient && to_other[index_of(operand)] == kNoValue;
        }))
      return true;
    // The rule of what a layer keeps.
    if (graph.scope(id).starts_with(kUpdateScope) &&
        changes_keeper_of(std::string_view(graph.scope(id))
                              .substr(std::min(graph.scope(id).size(), kUpdateScope.size() + 1))))
      return true;
    const bool draws = graph[id].op == Op::kRandomBits && !graph[id].gradient;
    if (draws && stands_in_changed_mode(graph, group)) return true;
    if (!in_changed_mode(graph, id)) return false;
    // Dropout draws; in a layer with running values a batch gives them, or they are taken.
    const bool keeps = takes([&](ValueId operand) {
      return graph.is_input(operand) && graph[operand].kind == InputKind::kState;
    });
    const bool sums = info_of(graph[id].op).op_class == OpClass::kReduction;
    return graph[id].op == Op::kRandomBits || (!graph.scope(id).empty() && (keeps || sums));
  });
}

Difference ModeChange::difference() const {
  const CutContext& before = graphs_.old.context();
  const CutContext& now = graphs_.now.context();
  const auto name = [](const std::string& mode) { return mode.empty() ? "no mode" : mode; };
  std::string line = line_of_new(graphs_.now, before_);
  if (line.empty()) line = line_of_new(graphs_.old, now_);
  Difference out{.cause = Cause::kMode,
                 .subject = fmt::format("the mode set at {}", line),
                 .from = name(before.mode),
                 .to = name(now.mode),
                 .line = line};
  if (line.empty()) {
    out.line = now.end.line;
    out.subject = fmt::format("mode of the step cut at {}", out.line);
  }
  out.remedy = !changes_purpose()   ? kPrecisionRemedy
               : !changes_updates() ? kPurposeRemedy
                                    : remedy_of(Cause::kMode);
  return out;
}

}  // namespace lockstep
