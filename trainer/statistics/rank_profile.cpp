#include "trainer/statistics/rank_profile.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "data/files/read_text.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "lockstep profile";
constexpr int kVersion = 1;

constexpr std::array<std::pair<const char*, std::string LedgerRow::*>, 5> kTexts{
    {{"program", &LedgerRow::program},
     {"work", &LedgerRow::work},
     {"op", &LedgerRow::op},
     {"module", &LedgerRow::module},
     {"line", &LedgerRow::line}}};
constexpr std::array<std::pair<const char*, double LedgerRow::*>, 7> kAmounts{
    {{"ms", &LedgerRow::ms},
     {"least_ms", &LedgerRow::least_ms},
     {"attainable_ms", &LedgerRow::attainable_ms},
     {"fused_ms", &LedgerRow::fused_ms},
     {"commands", &LedgerRow::commands},
     {"flops", &LedgerRow::flops},
     {"bytes", &LedgerRow::bytes}}};

fs::path path_of(const std::string& run_folder, int rank) {
  return fs::path(run_folder) / "profile" / fmt::format("rank-{}.json", rank);
}

double amount(const Json& json) {
  const auto value = json.get<double>();
  LS_USER_CHECK(std::isfinite(value), "a figure is not finite");
  return value;
}

RankProfile read(const Json& json) {
  LS_USER_CHECK(json.at("format") == kFormat, "this is no profile");
  LS_USER_CHECK(json.at("version") == kVersion, "version {} is not known here",
                json.at("version").dump());
  RankProfile out;
  out.rank = json.at("rank").get<int>();
  out.ranks = json.at("ranks").get<int>();
  out.host = json.at("host").get<std::string>();
  out.limits = json.at("limits").get<std::string>();
  out.steps = json.at("steps").get<std::int64_t>();
  out.left_out = json.at("left_out").get<std::int64_t>();
  out.mean_step_ms = amount(json.at("mean_step_ms"));
  for (const Json& ms : json.at("step_ms")) out.step_ms.push_back(amount(ms));
  for (const Json& row : json.at("rows")) {
    LedgerRow& to = out.rows.emplace_back();
    for (const auto& [key, text] : kTexts) to.*text = row.at(key).get<std::string>();
    for (const auto& [key, value] : kAmounts) to.*value = amount(row.at(key));
  }
  return out;
}

}  // namespace

RankProfile profile_of(const Ledger& ledger) {
  RankProfile out;
  out.steps = ledger.steps();
  out.left_out = ledger.left_out();
  out.mean_step_ms = ledger.mean_step_ms();
  out.step_ms = ledger.step_ms();
  out.rows = ledger.rows();
  return out;
}

std::string to_json(const RankProfile& profile) {
  Json rows = Json::array();
  for (const LedgerRow& row : profile.rows) {
    Json& json = rows.emplace_back();
    for (const auto& [key, text] : kTexts) json[key] = row.*text;
    for (const auto& [key, value] : kAmounts) json[key] = row.*value;
  }
  const Json out{{"format", kFormat},
                 {"version", kVersion},
                 {"rank", profile.rank},
                 {"ranks", profile.ranks},
                 {"host", profile.host},
                 {"limits", profile.limits},
                 {"steps", profile.steps},
                 {"left_out", profile.left_out},
                 {"mean_step_ms", profile.mean_step_ms},
                 {"step_ms", profile.step_ms},
                 {"rows", std::move(rows)}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace);
}

RankProfile parse_rank_profile(std::string_view text, const std::string& where) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& e) {
    raise(ErrorKind::kUsage, "{}: damaged: {}", where, e.what());
  } catch (const Error& e) {
    raise(ErrorKind::kUsage, "{}: {}", where, e.what());
  }
}

void remove_profiles(const std::string& run_folder) {
  std::error_code error;  // what cannot be removed cannot be written over either: that is warned of
  fs::remove_all(fs::path(run_folder) / "profile", error);
}

void write_profile(const std::string& run_folder, const RankProfile& profile, Log& log) {
  const fs::path path = path_of(run_folder, profile.rank);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::trunc);
  file << to_json(profile) << "\n";
  file.close();
  if (!file)
    log.warn("{}: the profile could not be written: {}", path.string(), std::strerror(errno));
}

std::vector<RankProfile> read_profiles(const std::string& run_folder) {
  std::vector<RankProfile> out;
  const auto add = [&](int rank) {
    const std::string path = path_of(run_folder, rank).string();
    if (fs::exists(path)) out.push_back(parse_rank_profile(read_text(path), path));
  };
  add(0);
  for (int rank = 1; !out.empty() && rank < out[0].ranks; ++rank) add(rank);
  return out;
}

}  // namespace lockstep
