#include "core/explain/history.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/explain/differences.h"
#include "core/explain/exchanged.h"
#include "core/explain/mode_change.h"
#include "core/explain/op_groups.h"
#include "core/explain/remedies.h"

namespace lockstep {
namespace {

/// Maximum number of relatives that are compared in full.
constexpr int kCompared = 8;
/// Maximum number of those whose labels are counted.
constexpr int kLookedAt = 16;
/// Others with this part of the best likeness count as equally near.
constexpr double kAboutAsAlike = 0.8;
constexpr std::size_t kMaxFreeNumbers = 256;
/// The part of the smaller graph that must also be in the other one for versions of one step.
constexpr double kAlike = 0.5;
/// The same for graphs that were cut at different places.
constexpr double kNearlyEqual = 0.7;
/// Below, a single op more or less changes what is alike.
constexpr ValueId kFewNodes = 12;

/// Counts causes and possible causes.
std::size_t count_causes(const std::vector<Difference>& differences) {
  return static_cast<std::size_t>(std::ranges::count_if(
      differences, [](const Difference& d) { return !d.derived || d.perhaps; }));
}

/// Whether ops that came or went are a cause: they hide the numbers that they take.
bool have_other_ops(const std::vector<Difference>& differences) {
  return std::ranges::any_of(differences, [](const Difference& d) {
    return !d.derived && (d.cause == Cause::kOpAdded || d.cause == Cause::kOpRemoved);
  });
}

/// How much two graphs have in common, and that is enough to call them versions of one step; else
/// 0.
double likeness_of_versions(const GraphDescriptor& a, const GraphDescriptor& b) {
  const double share = likeness(a, b);
  const bool enough = std::min(a.size(), b.size()) <= kFewNodes || share >= kAlike;
  const auto smaller = static_cast<double>(std::min(a.size(), b.size()));
  const auto larger = static_cast<double>(std::max(a.size(), b.size()));
  return enough && larger > 0 ? share * smaller / larger : 0;
}

std::vector<Difference> compare(const GraphDescriptor& old, const GraphDescriptor& now) {
  const bool equal =
      same_skeleton(old, now) || (likeness_of_versions(old, now) == 0 && same_ops(old, now));
  if (equal) return find_differences({old, now, align_equal(now)});
  // Values in each other's roles: a search by names would find the ops moved instead.
  if (const auto in_place = align_in_place(old, now);
      in_place && !are_equal_but_for_order(old, now))
    return find_differences({old, now, *in_place});
  return find_differences({old, now, align(old, now)});
}

bool has_unnamed_input(const GraphDescriptor& graph, const std::vector<ValueId>& matched) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId id) {
    return matched[static_cast<std::size_t>(id)] == kNoValue && graph.input(id).name.empty();
  });
}

/// Whether all that it records is in the graph that it was matched with.
bool has_no_more(const GraphDescriptor& graph, const std::vector<ValueId>& matched) {
  for (ValueId id = 0; id < graph.size(); ++id)
    if (matched[static_cast<std::size_t>(id)] == kNoValue && !is_leaf(graph, id)) return false;
  return true;
}

/// Whether they may belong to one model: parameters of one name have one type.
bool have_same_parameters(const GraphDescriptor& a, const GraphDescriptor& b) {
  std::map<std::string, std::string> types;
  for (const ValueId id : a.inputs())
    if (a[id].kind == InputKind::kParameter) types.emplace(a.input(id).name, a.type(id));
  return std::ranges::all_of(b.inputs(), [&](ValueId id) {
    const auto found = types.find(b.input(id).name);
    return b[id].kind != InputKind::kParameter || found == types.end() ||
           found->second == b.type(id);
  });
}

/// Whether `part` is what is left of `whole` after a read had cut it: it takes as inputs what the
/// other computes, or does without, and begins later.
bool is_rest_of(const GraphDescriptor& part, const GraphDescriptor& whole) {
  // A loop that reads its only value: each of its graphs is whole.
  if (part.context().begin == part.context().end) return false;
  if (!part.context().begin.by_read || whole.context().begin == part.context().begin) return false;
  const Alignment alignment = align(whole, part);
  const bool lost =
      std::ranges::any_of(alignment.to_new, [](ValueId id) { return id == kNoValue; });
  return lost && (has_unnamed_input(part, alignment.to_old) || has_no_more(part, alignment.to_old));
}

/// The text for a step that a read now cuts at another place; empty if it does not.
std::string moved_read(const GraphDescriptor& now, const GraphDescriptor& old) {
  const CutSite& site = now.context().begin;
  const CutSite& before = old.context().begin;
  if (!site.by_read || !before.by_read || site == before || now.context().end.by_read) return "";
  const auto inputs_made = [](const GraphDescriptor& graph) {
    std::multiset<std::string> out;
    for (const ValueId id : graph.inputs())
      if (graph.input(id).name.empty()) out.insert(graph.type(id));
    return out;
  };
  if (inputs_made(now) == inputs_made(old)) return "";
  return fmt::format("cut the step, in place of the read at {}; this is what came after it",
                     before.line);
}

Difference read_difference(const CutSite& site, const char* what) {
  return {.cause = Cause::kValueRead,
          .subject = fmt::format("the read at {}", site.line.empty() ? "?" : site.line),
          .to = what,
          .line = site.line};
}

/// The read is the main cause; of the others only constants and shapes of named inputs are causes
/// of their own.
void put_in_front(Difference read, std::vector<Difference>& differences) {
  for (Difference& difference : differences) {
    const bool shape = difference.cause == Cause::kInputShape && !difference.made_input;
    const bool constant = difference.cause == Cause::kConstant;
    difference.derived = difference.derived || !(shape || constant);
  }
  std::ranges::stable_sort(differences, {}, &Difference::derived);
  differences.insert(differences.begin(), std::move(read));
}

}  // namespace

std::string Explanation::text(std::size_t count) const {
  std::string out;
  std::size_t causes = 0;
  const std::size_t all = differences.size() - derived();
  if (all == count + 1) ++count;  // one more is no longer than "and 1 more"
  for (const Difference& difference : differences) {
    if (difference.derived) continue;
    if (++causes <= count) out += (out.empty() ? "" : "; ") + difference.text();
  }
  if (causes > count) out += fmt::format("; and {} more", causes - count);
  std::string others;
  std::size_t possible = 0;
  for (const Difference& difference : differences)
    if (difference.derived && difference.perhaps && ++possible <= count)
      others += (others.empty() ? "" : ", ") + difference.text();
  if (possible > count) others += fmt::format(" and {} more", possible - count);
  return others.empty() ? out : fmt::format("{}; with what may follow from it: {}", out, others);
}

std::vector<std::string_view> Explanation::remedies() const {
  std::vector<std::string_view> out;
  for (const Difference& difference : differences) {
    const bool told =
        !difference.derived && !difference.remedy.empty() && difference.cause != Cause::kBucket;
    if (told && std::ranges::find(out, difference.remedy) == out.end())
      out.push_back(difference.remedy);
  }
  return out;
}

std::size_t Explanation::derived() const {
  return static_cast<std::size_t>(std::ranges::count_if(differences, &Difference::derived));
}

// Of the same place and mode the one that takes the fewest causes to tell, of those that are most
// alike, where ops that came or went do not hide what changed since a later one; else of the same
// place; else of any place, if it is the same step.
ProgramHistory::Choice ProgramHistory::choose_at_place(const GraphDescriptor& now) const {
  const CutContext& context = now.context();
  struct Candidate {
    const Entry* entry;
    double alike;  // 2 for the same skeleton
    int age;       // how many were used later
  };
  std::vector<Candidate> candidates;
  int looked_at = 0;
  const Entry* renamed = nullptr;  // all in other scopes
  for (const Entry& entry : graphs_) {
    const CutContext& other = entry.graph->context();
    if (!(other.end == context.end) || other.mode != context.mode) continue;
    if (looked_at++ == kLookedAt) break;
    const double alike =
        same_skeleton(*entry.graph, now) ? 2 : likeness_of_versions(*entry.graph, now);
    if (alike > 0) candidates.push_back({&entry, alike, looked_at - 1});
    if (renamed == nullptr && same_ops(*entry.graph, now)) renamed = &entry;
  }
  if (candidates.empty()) return {renamed};
  std::ranges::stable_sort(candidates, std::greater(), &Candidate::alike);
  const double least = kAboutAsAlike * std::min(1.0, candidates.front().alike);
  std::erase_if(candidates, [&](const Candidate& each) { return each.alike < least; });
  if (candidates.size() == 1) return {candidates.front().entry};
  candidates.resize(std::min(candidates.size(), std::size_t{kCompared}));
  Choice nearest;
  std::size_t fewest = 0;
  int age = 0;
  bool other_ops = false;
  for (const Candidate& candidate : candidates) {
    std::vector<Difference> differences = compare(*candidate.entry->graph, now);
    const std::size_t causes = count_causes(differences);
    const bool ops = have_other_ops(differences);
    const bool hides = ops && !other_ops && candidate.age > age;
    if (nearest.relative != nullptr && (causes >= fewest || hides)) continue;
    nearest = {candidate.entry, false, std::move(differences)};
    fewest = causes;
    age = candidate.age;
    other_ops = ops;
    if (fewest == 1) break;
  }
  return nearest;
}

ProgramHistory::Choice ProgramHistory::choose(const GraphDescriptor& now) const {
  const CutContext& context = now.context();
  if (Choice nearest = choose_at_place(now); nearest.relative != nullptr) return nearest;
  int looked_at = 0;
  const Entry* other_mode = nullptr;  // the first that does the same, else any
  for (const Entry& entry : graphs_) {
    const CutContext& other = entry.graph->context();
    if (!(other.end == context.end) || looked_at++ >= kLookedAt) continue;
    const bool same = purposes_of(other.mode) == purposes_of(context.mode);
    if ((other_mode != nullptr && !same) || likeness_of_versions(*entry.graph, now) == 0) continue;
    other_mode = &entry;
    if (same) break;
  }
  if (other_mode != nullptr) return {other_mode};
  for (const Entry& entry : graphs_) {
    const CutContext& other = entry.graph->context();
    if (other.mode != context.mode || !have_same_parameters(*entry.graph, now)) continue;
    const bool read_early = context.end.by_read && !other.end.by_read && looked_at++ < kLookedAt;
    const bool both_ends = !context.end.by_read && !other.end.by_read && !context.mode.empty() &&
                           std::min(entry.graph->size(), now.size()) > kFewNodes;
    if (same_skeleton(*entry.graph, now) ||
        (both_ends && likeness_of_versions(*entry.graph, now) >= kNearlyEqual) ||
        (read_early && likeness_of_versions(*entry.graph, now) >= kNearlyEqual))
      return {&entry, true};
  }
  return {};
}

/// A number that may follow from a size is a cause itself if it once changed without the size.
void ProgramHistory::judge_numbers(std::vector<Difference>& differences) {
  bool sizes = false;
  for (const Difference& difference : differences)
    sizes = sizes || difference.cause == Cause::kInputShape;
  for (Difference& difference : differences) {
    if (difference.cause != Cause::kConstant) continue;
    if (!sizes && !difference.derived && free_numbers_.size() < kMaxFreeNumbers)
      free_numbers_.insert(difference.subject);
    if (difference.perhaps && free_numbers_.contains(difference.subject))
      difference.derived = difference.perhaps = false;
  }
  std::ranges::stable_sort(differences, {}, &Difference::derived);
}

/// Whether a step was cut at `end`, and never after the read.
bool ProgramHistory::was_cut_without(const CutSite& read, const CutSite& end) const {
  bool any = false;
  for (const Entry& entry : graphs_) {
    const CutContext& context = entry.graph->context();
    if (!(context.end == end)) continue;
    if (context.begin == read) return false;
    any = true;
  }
  return any;
}

Explanation ProgramHistory::explain(const GraphDescriptor& now) {
  Choice choice = choose(now);
  Explanation out;
  if (choice.relative == nullptr) {
    out.awaits_next = now.context().end.by_read;
    return out;
  }
  const GraphDescriptor& old = *choice.relative->graph;
  out.relative = choice.relative->number;
  out.differences = choice.differences.empty() ? compare(old, now) : std::move(choice.differences);
  judge_numbers(out.differences);
  const CutContext& context = now.context();
  const CutContext& before = old.context();
  if (context.mode != before.mode) return out;  // parts that one mode records are no read's
  if (choice.other_site && context.end.by_read && !before.end.by_read) {
    put_in_front(read_difference(context.end, "cut the step"), out.differences);
  } else if (const std::string moved = moved_read(now, old); !moved.empty()) {
    put_in_front(read_difference(context.begin, moved.c_str()), out.differences);
  } else if (is_rest_of(now, old)) {
    put_in_front(read_difference(context.begin, "cut the step; this is what came after it"),
                 out.differences);
  } else if (is_rest_of(old, now) && context.end.by_read && context.begin == context.end &&
             was_cut_without(context.end, before.begin)) {
    const std::string what =
        fmt::format("now cuts the step, in place of that at {}", before.begin.line);
    put_in_front(read_difference(context.end, what.c_str()), out.differences);
  } else if (is_rest_of(old, now)) {
    put_in_front(read_difference(before.begin, "no longer cuts the step"), out.differences);
  }
  return out;
}

void ProgramHistory::add(std::shared_ptr<const GraphDescriptor> graph, std::int64_t number) {
  const Hash128 structure = graph->structure();
  if (structures_.insert(structure).second) structures_by_age_.push_back(structure);
  while (structures_by_age_.size() > limits_.structures) {
    structures_.erase(structures_by_age_.front());
    structures_by_age_.pop_front();
  }
  if (const auto known = index_.find(structure); known != index_.end()) {
    bytes_ -= known->second->graph->bytes();
    graphs_.erase(known->second);
  }
  bytes_ += graph->bytes();
  graphs_.push_front({std::move(graph), number});
  index_[structure] = graphs_.begin();
  while (graphs_.size() > 1 && (graphs_.size() > limits_.graphs || bytes_ > limits_.bytes))
    forget_oldest();
}

void ProgramHistory::touch(const Hash128& structure) {
  const auto found = index_.find(structure);
  if (found != index_.end()) graphs_.splice(graphs_.begin(), graphs_, found->second);
}

void ProgramHistory::forget_oldest() {
  const Entry& oldest = graphs_.back();
  bytes_ -= oldest.graph->bytes();
  index_.erase(oldest.graph->structure());
  graphs_.pop_back();
}

}  // namespace lockstep
