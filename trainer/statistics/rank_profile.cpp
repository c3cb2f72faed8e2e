#include "trainer/statistics/rank_profile.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json_place.h"
#include "data/files/read_text.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kProfileFormat = "lockstep profile";
constexpr int kProfileVersion = 1;
// Of what is read: far beyond all that is.
constexpr std::int64_t kMaxRanks = 1 << 16;
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 50;
constexpr double kMaxAmount = 1e18;

constexpr std::array<std::pair<const char*, std::string LedgerRow::*>, 5> kTexts{
    {{"program", &LedgerRow::program},
     {"work", &LedgerRow::work},
     {"op", &LedgerRow::op},
     {"module", &LedgerRow::module},
     {"line", &LedgerRow::line}}};
constexpr std::array<std::pair<const char*, double LedgerRow::*>, 7> kAmounts{
    {{"ms", &LedgerRow::ms},
     {"least_ms", &LedgerRow::min_ms},
     {"attainable_ms", &LedgerRow::lower_bound_ms},
     {"fused_ms", &LedgerRow::fused_ms},
     {"commands", &LedgerRow::commands},
     {"flops", &LedgerRow::flops},
     {"bytes", &LedgerRow::bytes}}};

/// With virtual time only.
constexpr std::array<std::pair<const char*, double LedgerRow::*>, 2> kVirtualAmounts{
    {{"sim_ms", &LedgerRow::virtual_ms},
     {"sim_attainable_ms", &LedgerRow::virtual_lower_bound_ms}}};

fs::path path_of(const std::string& run_folder, int rank) {
  return fs::path(run_folder) / "profile" / fmt::format("rank-{}.json", rank);
}

double amount(const OrderedJson& json) {
  const auto value = json.get<double>();
  LS_USER_CHECK(std::abs(value) <= kMaxAmount, "damaged: a figure is {}", value);
  return value;
}

std::int64_t whole(const OrderedJson& json, const char* key, std::int64_t min, std::int64_t max) {
  const OrderedJson& value = json.at(key);
  LS_USER_CHECK(value.is_number_integer() && value >= min && value <= max, "damaged: {} is {}", key,
                value.dump());
  return value.get<std::int64_t>();
}

/// What a terminal would take for commands is left out.
std::string text(const OrderedJson& json) {
  auto out = json.get<std::string>();
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return out;
}

void check_sum(const RankProfile& profile, double LedgerRow::*time, double step_ms) {
  double sum = 0;
  for (const LedgerRow& row : profile.rows) sum += row.*time;
  LS_USER_CHECK(std::abs(sum - step_ms) <= 1e-3 * step_ms + 1e-6,
                "damaged: its rows sum to {} ms, and a step takes {} ms", sum, step_ms);
}

std::int64_t step_number(const OrderedJson& json) {
  LS_USER_CHECK(json.is_number_integer() && json >= -1 && json <= kMaxSteps,
                "damaged: a step's number is {}", json.dump());
  return json.get<std::int64_t>();
}

OddStep odd_step_of(const OrderedJson& json) {
  OddStep out{.step = step_number(json.at("step")),
              .ms = amount(json.at("ms")),
              .first_of_program = json.at("first_of_program").get<bool>(),
              .beyond_mean_ms = {},
              .core_wait_beyond_mean_ms = 0};
  if (json.contains("core_wait_beyond_mean_ms"))
    out.core_wait_beyond_mean_ms = amount(json.at("core_wait_beyond_mean_ms"));
  for (const auto& [part, ms] : json.at("beyond_mean_ms").items())
    out.beyond_mean_ms.emplace_back(text(part), amount(ms));
  std::ranges::stable_sort(out.beyond_mean_ms, std::greater(),
                           &std::pair<std::string, double>::second);
  return out;
}

void read_steps(const OrderedJson& json, RankProfile& to) {
  for (const OrderedJson& ms : json.at("step_ms")) {
    to.step_ms.push_back(amount(ms));
    LS_USER_CHECK(to.step_ms.back() >= 0, "damaged: a step takes {} ms", to.step_ms.back());
  }
  if (!json.contains("step_numbers")) return;  // of an older run
  for (const OrderedJson& number : json.at("step_numbers"))
    to.step_numbers.push_back(step_number(number));
  LS_USER_CHECK(to.step_numbers.size() == to.step_ms.size(),
                "damaged: it has the times of {} steps and the numbers of {}", to.step_ms.size(),
                to.step_numbers.size());
  for (const OrderedJson& odd : json.at("odd_steps")) to.odd_steps.push_back(odd_step_of(odd));
}

BucketMeans buckets_of(const OrderedJson& json) {
  constexpr std::int64_t kMaxBuckets = 1 << 20;
  BucketMeans out{.steps = whole(json, "steps", 1, kMaxSteps),
                  .gradient_end_ms = amount(json.at("gradient_end_ms")),
                  .update_begin_ms = amount(json.at("update_begin_ms")),
                  .times = {}};
  for (const OrderedJson& bucket : json.at("times"))
    out.times.push_back({.bucket = whole(bucket, "bucket", 0, kMaxBuckets),
                         .bytes = whole(bucket, "bytes", 0, kMaxSteps),
                         .begin_ms = amount(bucket.at("begin_ms")),
                         .end_ms = amount(bucket.at("end_ms")),
                         .exposed_ms = amount(bucket.at("exposed_ms"))});
  return out;
}

OrderedJson buckets_json(const BucketMeans& buckets) {
  OrderedJson times = OrderedJson::array();
  for (const BucketTime& time : buckets.times)
    times.push_back({{"bucket", time.bucket},
                     {"bytes", time.bytes},
                     {"begin_ms", time.begin_ms},
                     {"end_ms", time.end_ms},
                     {"exposed_ms", time.exposed_ms}});
  return {{"steps", buckets.steps},
          {"gradient_end_ms", buckets.gradient_end_ms},
          {"update_begin_ms", buckets.update_begin_ms},
          {"times", std::move(times)}};
}

OrderedJson odd_steps_json(const std::vector<OddStep>& steps) {
  OrderedJson out = OrderedJson::array();
  for (const OddStep& step : steps) {
    OrderedJson parts = OrderedJson::object();
    for (const auto& [part, ms] : step.beyond_mean_ms) parts[part] = ms;
    out.push_back({{"step", step.step},
                   {"ms", step.ms},
                   {"first_of_program", step.first_of_program},
                   {"beyond_mean_ms", std::move(parts)},
                   {"core_wait_beyond_mean_ms", step.core_wait_beyond_mean_ms}});
  }
  return out;
}

WallClock wall_clock_of(const OrderedJson& json) {
  return {.ahead_ms = amount(json.at("ahead_ms")),
          .uncertainty_ms = amount(json.at("uncertainty_ms"))};
}

SimulatedSteps simulated_of(const OrderedJson& json) {
  SimulatedSteps out{.device = text(json.at("device")),
                     .steps = whole(json, "steps", 1, kMaxSteps),
                     .mean_step_ms = amount(json.at("mean_step_ms"))};
  LS_USER_CHECK(!out.device.empty(), "damaged: the simulated device has no name");
  return out;
}

RankProfile profile_of(const OrderedJson& json) {
  LS_USER_CHECK(json.at("format") == kProfileFormat, "this is not a profile");
  LS_USER_CHECK(json.at("version") == kProfileVersion, "version {} is not supported",
                json.at("version").dump());
  RankProfile out;
  out.ranks = static_cast<int>(whole(json, "ranks", 1, kMaxRanks));
  out.rank = static_cast<int>(whole(json, "rank", 0, out.ranks - 1));
  out.host = text(json.at("host"));
  out.limits = text(json.at("limits"));
  out.steps = whole(json, "steps", 0, kMaxSteps);
  out.left_out = whole(json, "left_out", 0, kMaxSteps);
  out.mean_step_ms = amount(json.at("mean_step_ms"));
  if (json.contains("core_wait_ms")) out.core_wait_ms = amount(json.at("core_wait_ms"));
  if (json.contains("wall_clock")) out.wall_clock = wall_clock_of(json.at("wall_clock"));
  read_steps(json, out);
  if (json.contains("buckets")) out.buckets = buckets_of(json.at("buckets"));
  const bool simulated = json.contains("simulated");
  if (simulated) out.simulated = simulated_of(json.at("simulated"));
  for (const OrderedJson& row : json.at("rows")) {
    LedgerRow& to = out.rows.emplace_back();
    for (const auto& [key, member] : kTexts) to.*member = text(row.at(key));
    // Before programs had their names of today.
    if (to.program == "shard") to.program = "gradient";
    for (const auto& [key, value] : kAmounts) to.*value = amount(row.at(key));
    if (!simulated) continue;
    for (const auto& [key, value] : kVirtualAmounts) to.*value = amount(row.at(key));
  }
  check_sum(out, &LedgerRow::ms, out.mean_step_ms);
  if (simulated) check_sum(out, &LedgerRow::virtual_ms, out.simulated.mean_step_ms);
  return out;
}

}  // namespace

RankProfile profile_of(const Ledger& ledger) {
  RankProfile out;
  out.steps = ledger.steps();
  out.left_out = ledger.left_out();
  out.mean_step_ms = ledger.mean_step_ms();
  const LedgerSteps times = ledger.last_steps();
  out.step_ms = times.step_ms();
  out.step_numbers = times.step_numbers();
  out.odd_steps = times.odd_steps();
  if (ledger.knows_core_wait()) out.core_wait_ms = times.mean_core_wait_ms();
  out.rows = ledger.rows();
  return out;
}

std::string to_json(const RankProfile& profile) {
  const bool simulated = !profile.simulated.device.empty();
  OrderedJson rows = OrderedJson::array();
  for (const LedgerRow& row : profile.rows) {
    OrderedJson& json = rows.emplace_back();
    for (const auto& [key, text] : kTexts) json[key] = row.*text;
    for (const auto& [key, value] : kAmounts) json[key] = row.*value;
    if (!simulated) continue;
    for (const auto& [key, value] : kVirtualAmounts) json[key] = row.*value;
  }
  OrderedJson out{
      {"format", kProfileFormat},
      {"version", kProfileVersion},
      {"rank", profile.rank},
      {"ranks", profile.ranks},
      {"host", profile.host},
      {"limits", profile.limits},
      {"steps", profile.steps},
      {"left_out", profile.left_out},
      {"mean_step_ms", profile.mean_step_ms},
      {"step_ms", profile.step_ms},
      {"step_numbers", profile.step_numbers},
      {"odd_steps", odd_steps_json(profile.odd_steps)},
  };
  if (profile.core_wait_ms) out["core_wait_ms"] = *profile.core_wait_ms;
  if (profile.wall_clock)
    out["wall_clock"] = {{"ahead_ms", profile.wall_clock->ahead_ms},
                         {"uncertainty_ms", profile.wall_clock->uncertainty_ms}};
  if (profile.buckets.steps > 0) out["buckets"] = buckets_json(profile.buckets);
  if (simulated)
    out["simulated"] = {{"device", profile.simulated.device},
                        {"steps", profile.simulated.steps},
                        {"mean_step_ms", profile.simulated.mean_step_ms}};
  out["rows"] = std::move(rows);
  return out.dump(1, ' ', false, OrderedJson::error_handler_t::replace);
}

RankProfile parse_rank_profile(std::string_view text, const std::string& where) {
  const std::string strict =
      JsonPlace::parse(std::string(text), JsonSource{.name = where, .kind = ErrorKind::kUsage})
          .dump();
  try {
    return profile_of(OrderedJson::parse(strict));
  } catch (const OrderedJson::exception& e) {
    raise(ErrorKind::kUsage, "{}: damaged: {}", where, e.what());
  } catch (const Error& e) {
    raise(ErrorKind::kUsage, "{}: {}", where, e.what());
  }
}

void remove_profiles(const std::string& run_folder) {
  std::error_code error;  // a file that cannot be removed cannot be overwritten either: the write
                          // logs a warning
  fs::remove_all(fs::path(run_folder) / "profile", error);
}

void write_profile(const std::string& run_folder, const RankProfile& profile, Log& log) {
  const fs::path path = path_of(run_folder, profile.rank);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  try {
    write_file(path.string(), to_json(profile) + "\n", ErrorKind::kUsage);
  } catch (const Error& problem) {
    log.warn("the profile could not be written: {}", problem.what());
  }
}

std::vector<RankProfile> read_profiles(const std::string& run_folder) {
  std::vector<RankProfile> out;
  const auto add = [&](int rank) {
    const std::string path = path_of(run_folder, rank).string();
    if (!fs::exists(path)) return;
    RankProfile profile = parse_rank_profile(read_text(path, kMaxJsonBytes), path);
    LS_USER_CHECK(profile.rank == rank, "{}: damaged: it is of rank {}", path, profile.rank);
    out.push_back(std::move(profile));
  };
  add(0);
  for (int rank = 1; !out.empty() && rank < out[0].ranks; ++rank) add(rank);
  return out;
}

}  // namespace lockstep
