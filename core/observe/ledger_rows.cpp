#include "core/observe/ledger_rows.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace lockstep {
namespace {

constexpr std::array kAmounts = {
    &LedgerRow::ms,       &LedgerRow::min_ms,     &LedgerRow::lower_bound_ms,
    &LedgerRow::fused_ms, &LedgerRow::commands,   &LedgerRow::flops,
    &LedgerRow::bytes,    &LedgerRow::virtual_ms, &LedgerRow::virtual_lower_bound_ms};

constexpr std::array kGroupings = {GroupBy::kClass, GroupBy::kOp, GroupBy::kModule, GroupBy::kLine};

}  // namespace

std::string_view name_of(GroupBy by) {
  switch (by) {
    case GroupBy::kClass: return "class";
    case GroupBy::kOp: return "op";
    case GroupBy::kModule: return "module";
    case GroupBy::kLine: return "line";
  }
  __builtin_unreachable();
}

std::optional<GroupBy> parse_group_by(std::string_view name) {
  for (const GroupBy by : kGroupings)
    if (name == name_of(by)) return by;
  return std::nullopt;
}

std::tuple<std::string, std::string, std::string> group_key(const LedgerRow& row, GroupBy by) {
  if (!row.is_bundle()) return {row.program, row.work, ""};
  switch (by) {
    case GroupBy::kClass: return {row.program, row.work, ""};
    case GroupBy::kOp: return {row.program, row.work, row.op};
    case GroupBy::kModule: return {row.program, "", row.module};
    case GroupBy::kLine: return {row.program, "", row.line};
  }
  __builtin_unreachable();
}

void add_amounts(const LedgerRow& from, LedgerRow& to) {
  for (double LedgerRow::*amount : kAmounts) to.*amount += from.*amount;
}

void scale_amounts(LedgerRow& row, double factor) {
  for (double LedgerRow::*amount : kAmounts) row.*amount *= factor;
}

std::vector<LedgerRow> group_rows(const std::vector<LedgerRow>& rows, GroupBy by) {
  std::vector<LedgerRow> sorted = rows;
  std::ranges::stable_sort(sorted, std::greater(), &LedgerRow::ms);
  std::vector<LedgerRow> out;
  std::map<decltype(group_key({}, by)), std::size_t> index;
  for (const LedgerRow& row : sorted) {
    const auto [place, is_new] = index.try_emplace(group_key(row, by), out.size());
    if (is_new) {
      out.push_back(row);
      continue;
    }
    LedgerRow& group = out[place->second];
    add_amounts(row, group);
    group.places += row.places;
    const auto keep_common = [&](std::string LedgerRow::*text) {
      if (group.*text != row.*text) (group.*text).clear();
    };
    keep_common(&LedgerRow::work);
    keep_common(&LedgerRow::op);
    if (by == GroupBy::kOp) continue;
    keep_common(&LedgerRow::module);
    keep_common(&LedgerRow::line);
  }
  std::ranges::stable_sort(out, std::greater(), &LedgerRow::ms);
  return out;
}

}  // namespace lockstep
