#include "core/observe/compilation_journal.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/observe/program_analysis.h"
#include "core/trace/mode.h"

namespace lockstep {
namespace {

CutSite site_of(const Cut& cut) {
  if (cut.reason.empty()) return {};
  return {std::string(cut.reason), origin_of(cut.where).to_string(), cut.by_read};
}

CutContext context_of(const Cut& cut, const CutSite& begin) {
  CutContext out{begin, site_of(cut), describe_modes(cut.modes), cut.recorded, {}};
  for (const ModePlace& place : cut.mode_places)
    if ((cut.modes & mode_bit(place.number)) != 0)
      out.mode_lines.emplace(describe_modes(mode_bit(place.number)),
                             origin_of(place.where).to_string());
  for (const TensorState* state : cut.outputs)
    out.held.push_back(!state->name.empty() ? std::string(state->name)
                                            : fmt::format("{} handle{}", state->handles,
                                                          state->handles == 1 ? "" : "s"));
  return out;
}

/// The explanation for a program that this process had made and dropped.
Explanation dropped(std::size_t limit, std::size_t needed) {
  Explanation out;
  out.differences.push_back(
      {.cause = Cause::kEvicted,
       .subject = "the program",
       .to = fmt::format("had been dropped from memory to make room: {} different ones were needed "
                         "so far, and device.max_programs is {}",
                         needed, limit)});
  return out;
}

}  // namespace

Cut cut_of(const CutTrace& trace, SyncReason reason, const std::source_location& where) {
  return {.reason = name_of(reason),
          .where = where,
          .by_read = reason == SyncReason::kValueRead,
          .recorded = trace.recorded,
          .dropped = trace.dropped,
          .modes = trace.modes,
          .mode_places = trace.mode_places,
          .outputs = trace.outputs};
}

std::string CompilationRecord::text() const {
  const char* verb = loaded ? "loaded" : "compiled";
  const Cause cause = explanation.cause();
  std::string out =
      fmt::format("{}{} at step {} in {} (program {}, cut by {} on {}): {}",
                  cause == Cause::kFirstCompile || loaded ? "" : "re", verb, step,
                  readable_time(seconds), program, cut.end.reason, cut.end.line, name_of(cause));
  if (cause == Cause::kFirstCompile) return out;
  out += ", " + explanation.text();
  if (const std::size_t derived = explanation.derived(); derived > 0)
    out += fmt::format(", with {} consequence{}", derived, derived == 1 ? "" : "s");
  out += fmt::format("; {} of {} misses have this cause", alike, misses);
  if (const auto remedies = explanation.remedies(); !remedies.empty())
    out += fmt::format("; to end it, {}", fmt::join(remedies, "; and "));
  return out;
}

void CompilationJournal::hit(const Hash128& structure, const Cut& cut) {
  history_.touch(structure);
  settle(nullptr);
  note(cut);
}

std::int64_t& CompilationJournal::cuts_at(const Cut& cut) {
  return cuts_[{cut.where.file_name(), cut.where.line()}];
}

void CompilationJournal::note(const Cut& cut) {
  if (!cut.has_step) ++cuts_at(cut);
  last_cut_ = cut;
  last_cut_.outputs = {};
  last_cut_.mode_places = {};
  last_cut_.dropped = {};
}

CompilationJournal::Miss CompilationJournal::begin(const Graph& graph, const Cut& cut,
                                                   std::int64_t step) {
  Miss out;
  out.step = cut.has_step ? step : cuts_at(cut);
  CutContext context = context_of(cut, site_of(last_cut_));
  context.padded = padded_;
  auto described = std::make_shared<GraphDescriptor>(graph, std::move(context), cut.dropped);
  const bool known = history_.knows(described->structure());
  out.explanation =
      known ? dropped(limit_.programs, history_.structures()) : history_.explain(*described);
  tell_buckets(out.explanation);
  settle(&out.explanation);
  note(cut);
  out.graph = std::move(described);
  if (!known) check_limit(out.explanation);
  return out;
}

void CompilationJournal::tell_buckets(Explanation& explanation) const {
  const auto is_bucket = [&](const std::string& text) {
    std::int64_t length = 0;
    const char* end = text.data() + text.size();
    return std::from_chars(text.data(), end, length).ptr == end && buckets_.contains(length);
  };
  for (Difference& difference : explanation.differences) {
    // Of all sizes those of padded dimensions have this remedy.
    if (difference.derived || difference.remedy != remedy_of(Cause::kInputShape)) continue;
    if (!is_bucket(difference.from) || !is_bucket(difference.to)) continue;
    difference.cause = Cause::kBucket;
    difference.remedy = remedy_of(Cause::kBucket);
  }
  std::ranges::stable_sort(explanation.differences, {}, [](const Difference& difference) {
    return std::pair(difference.derived, difference.cause == Cause::kBucket);
  });
}

void CompilationJournal::add_causes(Miss& miss, std::vector<Difference> on_disk) {
  std::vector<Difference>& all = miss.explanation.differences;
  std::ranges::move(on_disk, std::back_inserter(all));
  std::ranges::stable_partition(all, [](const Difference& d) { return !d.derived; });
}

void CompilationJournal::finish(Miss miss, Outcome outcome) {
  const GraphDescriptor& graph = *miss.graph;
  CompilationRecord record;
  record.step = miss.step;
  record.program = outcome.program;
  record.structure = graph.structure();
  record.cut = graph.context();
  record.nodes = graph.size();
  record.inputs = static_cast<std::int64_t>(graph.inputs().size());
  record.outputs = static_cast<std::int64_t>(graph.outputs().size());
  record.explanation = std::move(miss.explanation);
  record.loaded = outcome.loaded;
  record.seconds = outcome.seconds;
  record.pass_ms = std::move(outcome.pass_ms);
  history_.add(std::move(miss.graph), record.program);
  if (record.explanation.is_open()) {
    waiting_ = std::move(record);
  } else {
    tell(std::move(record));
  }
}

/// The graph of a read was a part of a step if the next graph is the rest of the step.
void CompilationJournal::settle(const Explanation* next) {
  if (!waiting_) return;
  CompilationRecord record = std::move(*waiting_);
  waiting_.reset();
  record.explanation.awaits_next = false;
  if (next != nullptr && next->cause() == Cause::kValueRead &&
      next->differences.front().line == record.cut.end.line) {
    record.explanation.differences.push_back(
        {.cause = Cause::kValueRead,
         .subject = fmt::format("the read at {}", record.cut.end.line),
         .to = "cut the step; this is what came before it",
         .line = record.cut.end.line});
    record.explanation.relative = next->relative;
  }
  if (log_.debug_level() >= 1)
    log_.debug(1, "{}",
               cause_analysis(program_name(record.program, record.cut.end.reason, record.structure),
                              record.explanation));
  tell(std::move(record));
}

void CompilationJournal::flush() {
  settle(nullptr);
}

void CompilationJournal::tell(CompilationRecord record) {
  causes_.add(record.explanation, record.loaded, record.seconds);
  record.misses = causes_.misses();
  record.alike = causes_.misses_of(record.explanation.cause());
  if (log_.debug_level() >= 1) log_.debug(1, "{}", record.text());
  if (listener_) listener_(record);
}

void CompilationJournal::check_limit(const Explanation& explanation) {
  const std::size_t programs = history_.structures() + 1;
  if (programs <= std::max(limit_.programs, warn_at_)) return;
  CauseTally with_this = causes_;
  with_this.add(explanation, false, 0);
  std::string why = "no two of them are alike; raise";
  for (const CauseTally::Row& row : with_this.rows()) {
    const std::vector<std::string> remedies = row.remedies();
    if (remedies.empty()) continue;
    why = fmt::format("{}; {}; or raise", row.describe() + with_this.describe_others(row),
                      fmt::join(remedies, "; and "));
    break;
  }
  const std::string what = fmt::format(
      "{} different programs were needed so far, more than device.max_programs ({}): {}", programs,
      limit_.programs, why);
  if (limit_.stop)
    raise(ErrorKind::kUsage, "{} device.max_programs (device.on_max_programs: stop)", what);
  log_.warn(
      "{} device.max_programs; until then the least recently used programs are "
      "dropped",
      what);
  warn_at_ = 2 * programs - 1;  // warns again at twice as many
}

}  // namespace lockstep
