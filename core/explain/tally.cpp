#include "core/explain/tally.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <span>

#include "core/base/dtype.h"
#include "core/base/duration.h"

namespace lockstep {
namespace {

constexpr std::size_t kShownValues = 8;
constexpr std::size_t kShownOthers = 8;
/// Of lines that have numbers, for the first so many these are told apart.
constexpr std::size_t kMaxNumbered = 256;

/// By the numbers in them.
std::vector<std::string> sorted(const std::set<std::string>& values) {
  std::vector<std::string> out(values.begin(), values.end());
  const auto number = [](const std::string& text) {
    std::vector<double> values;  // of a list all
    for (const char* at = text.data(); at < text.data() + text.size();) {
      double value = 0;
      const auto [end, error] = std::from_chars(at, text.data() + text.size(), value);
      if (error == std::errc() && std::isfinite(value)) values.push_back(value);
      at = error == std::errc() ? end : at + 1;
    }
    return values;
  };
  std::ranges::stable_sort(out, {}, number);
  return out;
}

/// The subject whatever sizes it has: where they grow, each step has others. "input 7 (f32[3,8],
/// made before...)" becomes "an input (f32, made before...)".
std::string without_sizes(std::string_view subject) {
  constexpr std::string_view kInput = "input ";
  std::string out;
  if (subject.starts_with(kInput) && subject.find(" (") != std::string_view::npos) {
    out = "an input";
    subject.remove_prefix(subject.find(" ("));
  }
  for (std::size_t i = 0; i < subject.size();) {
    const std::size_t word = out.find_last_of(" (") + 1;
    const std::size_t end = subject.find(']', i);
    const bool is_type = subject[i] == '[' && end != std::string_view::npos &&
                         parse_dtype(std::string_view(out).substr(word)).has_value();
    if (!is_type) out += subject[i];
    i = is_type ? end + 1 : i + 1;
  }
  return out;
}

/// What was recorded at one line is one thing, whatever ops it was each time.
std::string key_of(const Difference& cause) {
  if (cause.cause >= Cause::kEvicted) return "";
  if (cause.from.empty() && !cause.line.empty()) return cause.line;
  return without_sizes(cause.subject);
}

/// Whether the subject is a line's number, of which the line may have several. Of a table only an
/// element is told.
bool is_number(const Difference& cause) {
  const bool has_numbers = cause.cause == Cause::kConstant || cause.cause == Cause::kAttribute;
  return has_numbers && !cause.from.empty() && cause.note.empty();
}

void add_value(std::set<std::string>& values, const std::string& value) {
  if (values.size() < CauseTally::kMaxValues) values.insert(value);
}

void add_miss(const Difference& cause, CauseTally::Root& root) {
  const bool is_first = root.example.empty();
  root.perhaps = cause.derived && (is_first || root.perhaps);
  root.subject =
      is_first || root.subject == cause.subject ? cause.subject : without_sizes(cause.subject);
  root.example = cause.text();
  root.change = cause.change();
  root.line = cause.line;
  root.remedy = cause.remedy;
  if (cause.from.empty() || cause.cause >= Cause::kEvicted) return;
  add_value(root.values, cause.from);
  add_value(root.values, cause.to);
}

std::string had_values(const std::set<std::string>& values) {
  std::vector<std::string> shown = sorted(values);
  if (shown.size() > kShownValues) {
    const auto half = static_cast<std::ptrdiff_t>(kShownValues / 2);
    shown.erase(shown.begin() + half, shown.end() - half);
    shown.insert(shown.begin() + half, "...");
  }
  return fmt::format("had {}{} values ({})", values.size(),
                     values.size() == CauseTally::kMaxValues ? " or more" : "",
                     fmt::join(shown, ", "));
}

/// Several of one cause and key as one text: "constant f32[] a.cpp:3: 1 -> 2 and 0.1 -> 0.3".
std::string describe_alike(const std::vector<const CauseTally::Root*>& roots) {
  const CauseTally::Root& first = *roots.front();
  std::string out = first.perhaps ? "perhaps " : "";
  out += first.values.size() < 3 ? first.example : first.subject + " " + had_values(first.values);
  for (const CauseTally::Root* root : std::span(roots).subspan(1)) {
    const bool number = !first.values.empty() && !root->values.empty();
    out += number ? " and " : "; ";
    if (root->perhaps && !first.perhaps) out += "perhaps ";
    if (!number)
      out += root->example;
    else
      out += root->values.size() < 3 ? root->change : "another " + had_values(root->values);
  }
  return out;
}

bool is_of(const CauseTally::Row& row, const CauseTally::Root& root) {
  return row.cause == root.id.cause && row.key == root.id.key;
}

bool have_same_values(const CauseTally::Root& a, const CauseTally::Root& b) {
  return !a.values.empty() && a.id.cause == b.id.cause && a.values == b.values &&
         a.change == b.change;
}

}  // namespace

std::string CauseTally::Row::describe() const {
  std::vector<const Root*> alike;
  for (const Root& root : roots)
    if (is_of(*this, root)) alike.push_back(&root);
  return describe_alike(alike);
}

std::vector<std::string> CauseTally::Row::remedies() const {
  std::vector<std::string> out;
  if (!main().remedy.empty()) out.push_back(main().remedy);
  for (const Root& root : roots)
    if (!root.perhaps && !is_expected(root.id.cause, root.remedy) && !root.remedy.empty() &&
        std::ranges::find(out, root.remedy) == out.end())
      out.push_back(root.remedy);
  return out;
}

/// The row of misses with this main cause. What is expected, as an evaluation, has a row of its
/// own.
CauseTally::Row& CauseTally::row_of(const Difference& main) {
  const std::string key = key_of(main);
  auto row = std::ranges::find_if(rows_, [&](const Row& r) {
    return r.cause == main.cause && r.key == key &&
           is_expected(r.cause, r.main().remedy) == is_expected(main.cause, main.remedy);
  });
  if (row != rows_.end()) return *row;
  if (rows_.size() < kMaxRows) return rows_.emplace_back(Row{.cause = main.cause, .key = key});
  row = std::ranges::find(rows_, main.cause, &Row::cause);  // beyond: what is alike in cause
  return row == rows_.end() ? rows_.back() : *row;
}

/// Numbers of one line are told apart by their values: each changes from one that it had. `told`:
/// those of the same miss.
CauseTally::Identity CauseTally::identify(const Difference& difference,
                                          const std::set<Identity>& told) {
  Identity out{.cause = difference.cause, .key = key_of(difference)};
  while (told.contains(out)) ++out.number;
  if (!is_number(difference)) return out;
  const auto place = std::pair(out.cause, out.key);
  if (!numbers_.contains(place) && numbers_.size() == kMaxNumbered) return out;
  std::vector<std::set<std::string>>& all = numbers_[place];
  for (std::size_t i = 0; i <= all.size() && i < kMaxRoots; ++i) {
    const Identity each{.cause = out.cause, .key = out.key, .number = i};
    if (i == all.size()) all.emplace_back();
    const bool is_it =
        all[i].empty() || all[i].size() == kMaxValues || all[i].contains(difference.from);
    if (!is_it || told.contains(each)) continue;
    add_value(all[i], difference.from);
    add_value(all[i], difference.to);
    return each;
  }
  return out;
}

void CauseTally::add(const Explanation& explanation, bool loaded, double seconds) {
  ++misses_;
  if (explanation.differences.empty()) {
    ++first_compilations_;
    return;
  }
  const Difference& main = explanation.differences.front();
  Row& row = row_of(main);
  ++(loaded ? row.loaded : row.compiled);
  row.seconds += seconds;
  std::set<Identity> told;
  for (const Difference& cause : explanation.differences) {
    if (&cause != &main && cause.derived && !cause.perhaps) continue;
    const Identity id = *told.insert(identify(cause, told)).first;
    auto root = std::ranges::find(row.roots, id, &Root::id);
    if (root == row.roots.end()) {
      if (row.roots.size() == kMaxRoots) continue;
      root = row.roots.insert(row.roots.end(), Root{.id = id});
    }
    add_miss(cause, *root);
  }
}

std::int64_t CauseTally::misses_of(Cause cause) const {
  if (cause == Cause::kFirstCompile) return first_compilations_;
  std::int64_t out = 0;
  for (const Row& row : rows_)
    if (row.cause == cause) out += row.misses();
  return out;
}

std::vector<CauseTally::Row> CauseTally::rows() const {
  std::vector<Row> out = rows_;
  std::ranges::stable_sort(out, std::greater(), &Row::misses);
  return out;
}

/// Whether another row names it as its main cause, with all values that it has in this one.
bool CauseTally::is_told_elsewhere(const Root& root, const Row& row) const {
  return std::ranges::any_of(rows_, [&](const Row& other) {
    if (!is_of(other, root) || is_of(row, root)) return false;
    const auto found = std::ranges::find(other.roots, root.id, &Root::id);
    return found != other.roots.end() && std::ranges::includes(found->values, root.values);
  });
}

std::vector<CauseTally::Others> CauseTally::others(const Row& row) const {
  std::map<Identity, std::vector<const Root*>> alike;  // by the first of them
  std::vector<Identity> order;
  for (const Root& root : row.roots) {
    if (is_of(row, root) || is_told_elsewhere(root, row)) continue;
    const Identity first{.cause = root.id.cause, .key = root.id.key};
    if (!alike.contains(first)) order.push_back(first);
    alike[first].push_back(&root);
  }
  std::vector<Others> out;
  for (const Identity& id : order) {
    std::vector<const Root*>& roots = alike[id];
    std::ranges::stable_sort(roots, {}, &Root::perhaps);
    const Root& first = *roots.front();
    const bool same = roots.size() == 1 && have_same_values(first, row.main());
    out.push_back(
        {.cause = id.cause,
         .what = same ? (first.perhaps ? "perhaps " : "") + first.subject : describe_alike(roots),
         .alike = same,
         .remedy = first.remedy});
  }
  return out;
}

std::string CauseTally::describe_others(const Row& row) const {
  std::vector<Others> beside = others(row);
  const std::size_t more = beside.size() - std::min(beside.size(), kShownOthers);
  beside.resize(beside.size() - more);
  std::vector<std::string> alike, further;
  for (Others& each : beside) (each.alike ? alike : further).push_back(std::move(each.what));
  std::string out;
  if (!alike.empty()) out += fmt::format(", with {}", fmt::join(alike, ", "));
  if (!further.empty()) out += fmt::format("; also {}", fmt::join(further, "; "));
  return more == 0 ? out : fmt::format("{} and {} more", out, more);
}

std::string CauseTally::table() const {
  if (std::ranges::all_of(rows_,
                          [](const Row& row) { return is_expected(row.cause, row.main().remedy); }))
    return "";
  const auto of_all = [&](std::int64_t n) { return fmt::format("{} of {} programs", n, misses_); };
  std::int64_t versions = 0, again = 0;
  double seconds = 0;
  for (const Row& row : rows_) {
    (row.cause < Cause::kEvicted ? versions : again) += row.misses();
    seconds += row.seconds;
  }
  std::vector<std::string> kinds;
  if (versions > 0) kinds.push_back(fmt::format("{} were versions of others", of_all(versions)));
  if (again > 0) kinds.push_back(fmt::format("{} had been made before", of_all(again)));
  std::string out = fmt::format(
      "recompilations: {} and took {}\n"
      "  {:<14} {:>8} {:>7} {:>8}  what\n",
      fmt::join(kinds, ", "), readable_time(seconds), "cause", "compiled", "loaded", "seconds");
  std::vector<std::pair<Cause, std::string>> remedies;
  for (const Row& row : rows()) {
    std::string what = row.describe();
    const std::string& line = row.main().line;
    if (!line.empty() && what.find(line) == std::string::npos) what += ", " + line;
    out += fmt::format("  {:<14} {:>8} {:>7} {:>8.2f}  {}{}\n", name_of(row.cause), row.compiled,
                       row.loaded, row.seconds, what, describe_others(row));
    for (const Root& root : row.roots) {
      const std::pair remedy{root.id.cause, root.remedy};
      if (!root.perhaps && !is_expected(root.id.cause, root.remedy) &&
          std::ranges::find(remedies, remedy) == remedies.end())
        remedies.push_back(remedy);
    }
  }
  for (const auto& [cause, remedy] : remedies)
    out += fmt::format("  {}: {}\n", name_of(cause), remedy);
  out.pop_back();
  return out;
}

}  // namespace lockstep
