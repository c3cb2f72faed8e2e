#include "trainer/evaluators/confusion.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "data/files/printable.h"
#include "data/files/utf8.h"

namespace lockstep {
namespace {

/// Maximum number of classes that are shown; if there are more, the worst ones.
constexpr std::size_t kShownClasses = 20;
constexpr std::size_t kShownConfusions = 10;

struct ClassRow {
  std::int32_t label = 0;
  std::int64_t samples = 0;
  std::int64_t correct = 0;
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(samples); }
};

using CountedCell = std::pair<Confusion::Cell, std::int64_t>;

std::string name_of(std::int32_t label, const std::vector<std::string>& names) {
  const auto place = static_cast<std::size_t>(label);
  return place < names.size() ? names[place] : std::to_string(label);
}

/// For the table.
std::string shown(std::int32_t label, const std::vector<std::string>& names) {
  return printable(name_of(label, names));
}

std::vector<ClassRow> rows_of(const std::map<Confusion::Cell, std::int64_t>& counts) {
  std::map<std::int32_t, ClassRow> rows;
  for (const auto& [cell, count] : counts) {
    ClassRow& row = rows[cell[0]];
    row.label = cell[0];
    row.samples += count;
    if (cell[0] == cell[1]) row.correct += count;
  }
  std::vector<ClassRow> out;
  out.reserve(rows.size());
  for (const auto& [label, row] : rows) out.push_back(row);
  return out;
}

/// Those that are wrong, the most frequent first.
std::vector<CountedCell> confusions_of(const std::map<Confusion::Cell, std::int64_t>& counts) {
  std::vector<CountedCell> out;
  for (const auto& [cell, count] : counts)
    if (cell[0] != cell[1]) out.emplace_back(cell, count);
  std::ranges::stable_sort(out, std::greater(), &CountedCell::second);
  return out;
}

/// A field of a CSV file.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string Confusion::table(const std::vector<std::string>& names) const {
  std::vector<ClassRow> rows = rows_of(counts_);
  const std::vector<CountedCell> confusions = confusions_of(counts_);
  const std::size_t classes = rows.size();
  if (classes > kShownClasses) {
    std::ranges::stable_sort(rows, {}, &ClassRow::accuracy);
    rows.resize(kShownClasses);
  }
  std::size_t width = std::string_view("class").size();
  for (const ClassRow& row : rows)
    width = std::max(width, count_characters(shown(row.label, names)));
  std::string out =
      fmt::format("{:<{}}  samples  accuracy  most often predicted as\n", "class", width);
  for (const ClassRow& row : rows) {
    out += fmt::format("{:<{}}  {:>7}  {:>8.4f}", shown(row.label, names), width, row.samples,
                       row.accuracy());
    const auto most = std::ranges::find(confusions, row.label,
                                        [](const CountedCell& entry) { return entry.first[0]; });
    if (most != confusions.end())
      out += fmt::format("  {} ({})", shown(most->first[1], names), most->second);
    out += "\n";
  }
  if (classes <= kShownClasses) return out;
  out += fmt::format("(the worst {} of {} classes)\nmost frequent confusions:\n", rows.size(),
                     classes);
  for (std::size_t i = 0; i < std::min(confusions.size(), kShownConfusions); ++i) {
    const auto& [cell, count] = confusions[i];
    out += fmt::format("  {} predicted as {}: {}\n", shown(cell[0], names), shown(cell[1], names),
                       count);
  }
  return out;
}

std::string Confusion::csv(const std::vector<std::string>& names) const {
  std::string out = "label,prediction,count\r\n";
  for (const auto& [cell, count] : counts_)
    out += fmt::format("{},{},{}\r\n", csv_field(name_of(cell[0], names)),
                       csv_field(name_of(cell[1], names)), count);
  return out;
}

std::string confusion_partial(const HostBatch& outputs) {
  const auto label = outputs.find("label"), prediction = outputs.find("prediction");
  if (label == outputs.end() || prediction == outputs.end()) return "";
  const auto labels = label->second.as<const std::int32_t>();
  const auto predictions = prediction->second.as<const std::int32_t>();
  const auto mask = outputs.at("mask").as<const float>();
  std::vector<Confusion::Cell> cells;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i] != 0) cells.push_back({labels[i], predictions[i]});
  return {reinterpret_cast<const char*>(cells.data()), cells.size() * sizeof(Confusion::Cell)};
}

void add_partials(std::span<const std::string> partials, Confusion& to) {
  for (const std::string& partial : partials)
    for (std::size_t at = 0; at < partial.size(); at += sizeof(Confusion::Cell)) {
      Confusion::Cell cell;
      std::memcpy(cell.data(), partial.data() + at, sizeof cell);
      to.add(cell);
    }
}

std::string ConfusionCounter::partial(const HostBatch& outputs) const {
  return confusion_partial(outputs);
}

MetricValues ConfusionCounter::combine(std::span<const std::string> partials,
                                       const MetricValues& /*values*/) const {
  add_partials(partials, to_);
  return {};
}

}  // namespace lockstep
