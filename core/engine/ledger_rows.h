// The lines of a ledger, and how like ones are put together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace lockstep {

/// Means over the steps of one rank: of one launch of a program, of another part of a step, or of
/// several that were put together.
struct LedgerRow {
  std::string program = {};  ///< "shard", "update" or "step"
  std::string work = {};     ///< a launch's class of work, or what else took the time
  std::string op = {};       ///< op and types, see signature_of(); empty for what is no launch
  std::string module = {};   ///< "h.3.attn"
  std::string line = {};     ///< "gpt.cpp:41"
  std::int64_t places = 1;   ///< how many rows were put together
  double ms = 0;             ///< a step
  double least_ms = 0;       ///< the same with the least time of each launch or part
  double attainable_ms = 0;  ///< what the machine's limits allow; 0 for what is no launch
  double fused_ms = 0;       ///< of `ms`, in kernels that run a group of ops
  double commands = 0;       ///< a step; of launches
  double flops = 0;          ///< a step
  double bytes = 0;          ///< a step, read and written

  bool is_launch() const { return program != "step"; }
};

enum class GroupBy : std::uint8_t {
  kClass,   ///< of work, in each program
  kOp,      ///< and types: what a model computes once per layer is one row
  kModule,  ///< in each program
  kLine,    ///< in each program
};
/// "class", "op", "module", "line".
std::string_view name_of(GroupBy by);
std::optional<GroupBy> parse_group_by(std::string_view name);

/// Equal for rows that are of one group.
std::tuple<std::string, std::string, std::string> group_key(const LedgerRow& row, GroupBy by);

/// The longest first. A row that several were put into keeps what they have in common; by op, also
/// module and line of the longest. What is no launch stays apart under any of them.
std::vector<LedgerRow> group_rows(const std::vector<LedgerRow>& rows, GroupBy by);

/// Adds the amounts of `from`.
void add_amounts(const LedgerRow& from, LedgerRow& to);

/// Multiplies all amounts.
void scale_amounts(LedgerRow& row, double factor);

}  // namespace lockstep
