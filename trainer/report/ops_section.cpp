#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/duration.h"
#include "core/base/error.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/report/sections.h"
#include "trainer/statistics/op_statistics.h"
#include "trainer/statistics/profile_text.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMaxOpRows = 500;
constexpr std::size_t kMaxPoints = 200;

/// The rows of `lockstep profile --by GROUP --json`, the longest ones, without times of each rank.
OrderedJson group_json(const RunFacts& facts, GroupBy by, OrderedJson& left_out) {
  OrderedJson rows = OrderedJson::parse(statistics_json(facts.profiles, by))["rows"];
  OrderedJson out = OrderedJson::array();
  double ms = 0;
  for (OrderedJson& row : rows) {
    if (out.size() == kMaxOpRows) {
      ms += row["ms"].get<double>();
      continue;
    }
    row.erase("rank_ms");
    out.push_back(std::move(row));
  }
  if (rows.size() > out.size())
    left_out[std::string(name_of(by))] = {{"rows", rows.size() - out.size()}, {"ms", ms}};
  return out;
}

/// The roofs of this machine, if the times were compared with them.
OrderedJson machine_roofs(const RunFacts& facts) {
  const MachineLimits& limits = facts.limits;
  const BusyCores cores = facts.busy_cores();
  OrderedJson roofs = OrderedJson::array();
  for (const DType dtype : {DType::kF32, DType::kBF16})
    if (const double peak = peak_flops_per_s(limits, dtype, cores); peak > 0)
      roofs.push_back(
          {{"name", fmt::format("{} products", name_of(dtype))}, {"flops_per_s", peak}});
  // Of values that no cache holds.
  constexpr double kLargeBytes = 1 << 30;
  const double memory =
      bytes_per_s(limits, {.kind = WorkKind::kElementwise, .bytes = kLargeBytes}, cores);
  return {{"name", fmt::format("this machine, {}", limits.origin())},
          {"roofs", std::move(roofs)},
          {"bytes_per_s", memory}};
}

/// Those of the device that the run stands for; nothing if it is this machine, or not known here.
OrderedJson device_roofs(const std::string& name) {
  constexpr double kGiga = 1e9;
  OrderedJson roofs = OrderedJson::array();
  try {
    const DeviceProfile device = find_device(name);
    for (const MathType type : {MathType::kFp32, MathType::kBf16})
      if (const auto peak = device.peak(type))
        roofs.push_back(
            {{"name", fmt::format("{} products", name_of(type))}, {"flops_per_s", *peak}});
    return {{"name", device.name},
            {"roofs", std::move(roofs)},
            {"bytes_per_s", kGiga * device.memory_gb_per_s.value}};
  } catch (const Error&) {
    return nullptr;
  }
}

OrderedJson points_json(const RunFacts& facts) {
  constexpr double kSeconds = 1e-3;
  OrderedJson out = OrderedJson::array();
  for (const OpStatistics& each : op_statistics(facts.profiles, GroupBy::kOp)) {
    const LedgerRow& row = each.mean;
    if (out.size() == kMaxPoints) break;
    if (row.flops <= 0 || row.bytes <= 0 || row.ms <= 0) continue;
    out.push_back({{"label", fmt::format("{} {} {}", row.program, row.work, row.module)},
                   {"work", row.work},
                   {"ms", row.ms},
                   {"flops_per_byte", row.flops / row.bytes},
                   {"flops_per_s", row.flops / (kSeconds * row.ms)}});
  }
  return out;
}

std::string ops_finding(const RunFacts& facts) {
  const StepShares shares = step_shares(facts.profiles);
  const auto rows = op_statistics(facts.profiles, GroupBy::kClass);
  const auto longest =
      std::ranges::find_if(rows, [](const OpStatistics& each) { return each.mean.is_bundle(); });
  if (longest == rows.end() || shares.bundled_ms <= 0) return "No command was measured.";
  std::string out = fmt::format("Most time goes to {} {}: {} of each step", longest->mean.program,
                                longest->mean.work, readable_ns(1e6 * longest->mean.ms));
  if (!facts.is_calibrated()) return out + "; without lockstep calibrate no limit is known.";
  return out + fmt::format("; commands run at {:.0f} % of the machine's limits ({}).",
                           100 * shares.lower_bound_ms / shares.bundled_ms,
                           facts.profiles[0].limits);
}

}  // namespace

std::string ops_section(const RunFacts& facts) {
  OrderedJson out{
      {"sources",
       {"lockstep profile " + shell_word(facts.folder) + " --by class|op|module|line --json",
        facts.file("profile/")}}};
  if (facts.profiles.empty() || facts.profiles[0].steps == 0) {
    out["finding"] = "The times of ops were not measured.";
    out["missing"] = facts.without_ledger();
    return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  const StepShares shares = step_shares(facts.profiles);
  const double device = shares[TimeShare::kDevice];
  out["finding"] = ops_finding(facts);
  out["mean_step_ms"] = mean_step_ms(facts.profiles);
  out["fused_share"] = device > 0 ? shares.fused_ms / device : 0;
  out["ranks"] = facts.profiles.size();
  out["left_out"] = OrderedJson::object();
  for (const GroupBy by : {GroupBy::kClass, GroupBy::kOp, GroupBy::kModule, GroupBy::kLine})
    out["by"][std::string(name_of(by))] = group_json(facts, by, out["left_out"]);
  out["roofline"] = facts.knows_limits() ? machine_roofs(facts) : OrderedJson::object();
  if (const std::string& device = facts.profiles[0].simulated.device; !device.empty())
    if (OrderedJson roofs = device_roofs(device); !roofs.is_null())
      out["roofline"]["device"] = std::move(roofs);
  out["roofline"]["points"] = points_json(facts);
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
