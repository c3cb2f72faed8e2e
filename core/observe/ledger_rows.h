// The rows of a ledger, and how they are grouped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace lockstep {

/// Means over the steps of one rank: of one bundle of a program, of another part of a step, or of a
/// group of these.
struct LedgerRow {
  std::string program = {};   ///< "gradient", "update" or "step"
  std::string work = {};      ///< a bundle's class of work, or another part of a step
  std::string op = {};        ///< op and types, see signature_of(); empty if not a bundle
  std::string module = {};    ///< "h.3.attn"
  std::string line = {};      ///< "gpt.cpp:41"
  std::int64_t places = 1;    ///< number of rows in the group
  double ms = 0;              ///< a step
  double min_ms = 0;          ///< the same with the minimum time of each bundle or part
  double lower_bound_ms = 0;  ///< lower bound from the machine's limits; 0 if not a bundle
  double fused_ms = 0;        ///< of `ms`, in kernels that run a group of ops
  double commands = 0;        ///< a step; of bundles
  double flops = 0;           ///< a step
  double bytes = 0;           ///< a step, read and written
  double virtual_ms = 0;      ///< a step, on the device that the rank stands for; 0 without one
  /// Of it, what that device's limits alone give; 0 if not a bundle.
  double virtual_lower_bound_ms = 0;

  bool is_bundle() const { return program != "step"; }
};

enum class GroupBy : std::uint8_t {
  kClass,   ///< of work, in each program
  kOp,      ///< and types: an op that every layer computes is one row
  kModule,  ///< in each program
  kLine,    ///< in each program
};
/// "class", "op", "module", "line".
std::string_view name_of(GroupBy by);
std::optional<GroupBy> parse_group_by(std::string_view name);

/// Equal for rows of one group.
std::tuple<std::string, std::string, std::string> group_key(const LedgerRow& row, GroupBy by);

/// Sorted by time, the longest first. The row of a group keeps the fields that its rows have in
/// common; by op, also module and line of the longest. Rows that are not bundles are never grouped
/// with bundles.
std::vector<LedgerRow> group_rows(const std::vector<LedgerRow>& rows, GroupBy by);

/// Adds the amounts of `from`.
void add_amounts(const LedgerRow& from, LedgerRow& to);

/// Multiplies all amounts.
void scale_amounts(LedgerRow& row, double factor);

}  // namespace lockstep
