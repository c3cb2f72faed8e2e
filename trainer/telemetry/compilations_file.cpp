#include "trainer/telemetry/compilations_file.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "core/base/json_place.h"
#include "core/base/posix_file.h"
#include "trainer/telemetry/json_lines.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Maximum number of lines that are kept until a file is open.
constexpr std::size_t kMaxKept = 1024;

OrderedJson differences_json(const std::vector<Difference>& differences) {
  OrderedJson out = OrderedJson::array();
  for (const Difference& difference : differences) {
    if (out.size() == kMaxDifferences) break;
    OrderedJson json{{"cause", name_of(difference.cause)}, {"subject", difference.subject}};
    if (!difference.from.empty()) json["from"] = difference.from;
    if (!difference.to.empty()) json["to"] = difference.to;
    if (!difference.note.empty()) json["note"] = difference.note;
    if (!difference.line.empty()) json["line"] = difference.line;
    if (!difference.scope.empty()) json["scope"] = difference.scope;
    json["derived"] = difference.derived;
    if (difference.perhaps) json["perhaps"] = true;
    if (!difference.derived && !difference.remedy.empty()) json["remedy"] = difference.remedy;
    out.push_back(std::move(json));
  }
  return out;
}

OrderedJson causes_json(const Explanation& explanation) {
  OrderedJson out = OrderedJson::array();
  for (const Difference& difference : explanation.differences)
    if (!difference.derived && (out.empty() || out.back() != name_of(difference.cause)))
      out.push_back(name_of(difference.cause));
  if (out.empty()) out.push_back(name_of(Cause::kFirstCompile));
  return out;
}

/// Adds the line to the tally.
void add_to_tally(const OrderedJson& json, CauseTally& to) {
  Explanation explanation;
  const auto remedy = json.value("remedy", std::string());
  // Older files have only the remedy of the main cause.
  const bool each_has = std::ranges::any_of(
      json.at("differences"), [](const OrderedJson& each) { return each.contains("remedy"); });
  std::deque<std::string> remedies;  // which the differences refer to
  for (const OrderedJson& each : json.at("differences")) {
    const auto cause = parse_cause(each.at("cause").get<std::string>());
    LS_USER_CHECK(cause.has_value(), "there is no cause {}", each.at("cause").dump());
    Difference& difference = explanation.differences.emplace_back();
    difference.cause = *cause;
    difference.subject = each.at("subject").get<std::string>();
    difference.from = each.value("from", std::string());
    difference.to = each.value("to", std::string());
    difference.note = each.value("note", std::string());
    difference.line = each.value("line", std::string());
    difference.derived = each.at("derived").get<bool>();
    difference.perhaps = each.value("perhaps", false);
    difference.remedy =
        remedies.emplace_back(each.value("remedy", each_has ? std::string() : remedy));
  }
  to.add(explanation, json.at("event") == "loaded", json.at("seconds").get<double>());
}

/// What a terminal would take for commands is left out.
std::string terminal_text(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return out;
}

double time_of(const OrderedJson& json) {
  constexpr double kMaxTime = 1e12;
  const auto out = json.get<double>();
  LS_USER_CHECK(out >= 0 && out <= kMaxTime, "a time of {}", json.dump());
  return out;
}

CompilationEvent event_of(const OrderedJson& json) {
  CompilationEvent out;
  out.step = json.at("step").get<std::int64_t>();
  const auto event = json.at("event").get<std::string>();
  LS_USER_CHECK(event == "loaded" || event == "compiled", "there is no event {}", event);
  out.loaded = event == "loaded";
  out.seconds = time_of(json.at("seconds"));
  out.cause = json.at("cause").get<std::string>();
  LS_USER_CHECK(parse_cause(out.cause).has_value(), "there is no cause {}",
                json.at("cause").dump());
  out.text = terminal_text(json.value("text", std::string()));
  out.remedy = terminal_text(json.value("remedy", std::string()));
  if (json.contains("passes"))
    for (const auto& [pass, ms] : json.at("passes").items())
      out.passes.emplace_back(terminal_text(pass), time_of(ms));
  return out;
}

/// Calls `read` with each line of this rank.
template <class F>
void for_each_line(const std::string& run_folder, int rank, const F& read) {
  for (const std::string& path :
       {compilations_path(run_folder), compilations_path(run_folder, rank)}) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    for_each_json_line(path, [&](const JsonLine& line) {
      if (OrderedJson::parse(line.text, nullptr, false).is_discarded())
        return;  // cut short as the disk was full
      try {
        (void)JsonPlace::parse(line.text, JsonSource{.name = "JSON", .line = 0});  // it is strict
        const OrderedJson json = OrderedJson::parse(line.text);
        if (json.at("rank").get<int>() == rank) read(json);
      } catch (const std::exception& e) {
        raise(ErrorKind::kUsage, "{}:{}: not a line of a compilation: {}", path, line.number,
              e.what());
      }
    });
  }
}

}  // namespace

std::string compilations_path(const std::string& run_folder) {
  return run_folder + "/compilations.jsonl";
}

std::string compilations_path(const std::string& run_folder, int rank) {
  return fmt::format("{}/logs/compilations-rank-{}.jsonl", run_folder, rank);
}

std::string causes_json(const CauseTally& tally) {
  OrderedJson out = OrderedJson::array();
  for (const CauseTally::Row& row : tally.rows()) {
    OrderedJson with = OrderedJson::array();
    for (const CauseTally::Others& each : tally.others(row))
      with.push_back(
          {{"cause", name_of(each.cause)}, {"what", each.what}, {"remedy", each.remedy}});
    out.push_back({{"cause", name_of(row.cause)},
                   {"subject", row.main().subject},
                   {"compiled", row.compiled},
                   {"loaded", row.loaded},
                   {"seconds", row.seconds},
                   {"what", row.describe()},
                   {"line", row.main().line},
                   {"remedy", row.main().remedy},
                   {"with", std::move(with)}});
  }
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

CauseTally read_compilations(const std::string& run_folder, int rank) {
  CauseTally out;
  for_each_line(run_folder, rank, [&](const OrderedJson& json) { add_to_tally(json, out); });
  return out;
}

std::vector<CompilationEvent> read_compilation_events(const std::string& run_folder, int rank) {
  std::vector<CompilationEvent> out;
  for_each_line(run_folder, rank, [&](const OrderedJson& json) { out.push_back(event_of(json)); });
  return out;
}

std::string to_json(const CompilationRecord& record, int rank) {
  const Explanation& explanation = record.explanation;
  OrderedJson out{{"rank", rank},
                  {"step", record.step},
                  {"program", record.program},
                  {"event", record.loaded ? "loaded" : "compiled"},
                  {"seconds", record.seconds},
                  {"cause", name_of(explanation.cause())},
                  {"causes", causes_json(explanation)},
                  {"misses", record.misses},
                  {"alike", record.alike}};
  if (!explanation.differences.empty()) {
    out["text"] = explanation.text();
    out["remedy"] = fmt::format("{}", fmt::join(explanation.remedies(), "; and "));
  }
  if (explanation.relative) out["relative"] = *explanation.relative;
  out["cut"] = record.cut.end.reason;
  out["line"] = record.cut.end.line;
  out["mode"] = record.cut.mode;
  if (!record.pass_ms.empty()) {
    OrderedJson& passes = out["passes"] = OrderedJson::object();
    for (const auto& [pass, ms] : record.pass_ms) passes[pass] = ms;
  }
  out["structure"] = record.structure.hex();
  out["nodes"] = record.nodes;
  out["inputs"] = record.inputs;
  out["outputs"] = record.outputs;
  out["consequences"] = explanation.derived();
  out["differences"] = differences_json(explanation.differences);
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

CompilationsFile::~CompilationsFile() {
  if (fd_ >= 0) ::close(fd_);
}

void CompilationsFile::add(const CompilationRecord& record) {
  std::string line = to_json(record, rank_) + "\n";
  if (fd_ >= 0) {
    write(line);
  } else if (log_ == nullptr && kept_.size() < kMaxKept) {
    kept_.push_back(std::move(line));
  }
}

void CompilationsFile::open(const std::string& path, Log& log) {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  path_ = path;
  log_ = &log;
  try {
    fd_ = open_to_append(path_, ErrorKind::kUsage);
  } catch (const Error& e) {
    log.warn("compilations cannot be written: {}", e.what());
  }
  for (const std::string& line : std::exchange(kept_, {}))
    if (fd_ >= 0) write(line);
}

void CompilationsFile::write(const std::string& line) {
  const ssize_t written = ::write(fd_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return;
  log_->warn("{}: a compilation could not be written, and later ones will not be: {}", path_,
             written < 0 ? std::strerror(errno) : "the disk is full");
  ::close(std::exchange(fd_, -1));
}

}  // namespace lockstep
