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
constexpr std::size_t kShownOthers = CauseTally::kMaxAlso;

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
std::string key_of(const Difference& main) {
  if (main.cause >= Cause::kEvicted) return "";
  if (main.from.empty() && !main.line.empty()) return main.line;
  return without_sizes(main.subject);
}

}  // namespace

std::string CauseTally::Row::describe() const {
  if (values.size() < 3) return example;
  std::vector<std::string> shown = sorted(values);
  if (shown.size() > kShownValues) {
    const auto half = static_cast<std::ptrdiff_t>(kShownValues / 2);
    shown.erase(shown.begin() + half, shown.end() - half);
    shown.insert(shown.begin() + half, "...");
  }
  return fmt::format("{} had {}{} values ({})", subject, values.size(),
                     values.size() == kMaxValues ? " or more" : "", fmt::join(shown, ", "));
}

void CauseTally::add(const Explanation& explanation, bool loaded, double seconds) {
  ++misses_;
  if (explanation.differences.empty()) {
    ++first_compilations_;
    return;
  }
  const Difference& main = explanation.differences.front();
  const std::string subject = main.cause < Cause::kEvicted ? main.subject : "";
  const std::string key = key_of(main);
  // What is expected, as an evaluation, has a row of its own.
  auto row = std::ranges::find_if(rows_, [&](const Row& r) {
    return r.cause == main.cause && r.key == key &&
           is_expected(r.cause, r.remedy) == is_expected(main.cause, main.remedy);
  });
  if (row == rows_.end() && rows_.size() >= kMaxRows) {  // beyond: what is alike in cause
    row = std::ranges::find(rows_, main.cause, &Row::cause);
    if (row == rows_.end()) row = std::prev(rows_.end());
  } else if (row == rows_.end()) {
    row = rows_.insert(rows_.end(), Row{.cause = main.cause, .subject = subject, .key = key});
  }
  const bool of_row = row->key == key;
  if (of_row && row->subject != subject) row->subject = without_sizes(subject);
  ++(loaded ? row->loaded : row->compiled);
  row->seconds += seconds;
  row->example = main.text();
  row->line = main.line;
  row->remedy = main.remedy;
  for (const Difference& other : std::span(explanation.differences).subspan(1))
    if ((!other.derived || other.perhaps) && other.subject != subject &&
        row->also.size() < kMaxAlso) {
      const auto [known, is_new] = row->also.try_emplace(
          other.subject, Other{other.cause, std::string(other.remedy), other.derived});
      if (!other.derived) known->second.perhaps = false;
    }
  if (main.from.empty() || !of_row) return;
  for (const std::string& value : {main.from, main.to})
    if (row->values.size() < kMaxValues) row->values.insert(value);
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

std::string CauseTally::others(const Row& row) const {
  std::vector<std::string> out;
  for (const auto& [subject, other] : row.also)
    if (std::ranges::find(rows_, subject, &Row::subject) == rows_.end())
      out.push_back((other.perhaps ? "perhaps " : "") + subject);
  if (out.empty()) return "";
  const std::size_t more = out.size() - std::min(out.size(), kShownOthers);
  out.resize(out.size() - more);
  return fmt::format(", with {}{}", fmt::join(out, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

std::string CauseTally::table() const {
  if (std::ranges::all_of(rows_, [](const Row& row) { return is_expected(row.cause, row.remedy); }))
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
    if (!row.line.empty() && what.find(row.line) == std::string::npos) what += ", " + row.line;
    what += others(row);
    out += fmt::format("  {:<14} {:>8} {:>7} {:>8.2f}  {}\n", name_of(row.cause), row.compiled,
                       row.loaded, row.seconds, what);
    const auto add_remedy = [&](Cause cause, const std::string& text) {
      const std::pair remedy{cause, text};
      if (!is_expected(cause, text) && std::ranges::find(remedies, remedy) == remedies.end())
        remedies.push_back(remedy);
    };
    add_remedy(row.cause, row.remedy);
    for (const auto& [subject, other] : row.also)
      if (!other.perhaps) add_remedy(other.cause, other.remedy);
  }
  for (const auto& [cause, remedy] : remedies)
    out += fmt::format("  {}: {}\n", name_of(cause), remedy);
  out.pop_back();
  return out;
}

}  // namespace lockstep
