// A plan is the result of compiling a program: a list of commands over slices of buffers. It is
// only data: it can be copied, kept on disk (plan_io.h), counted, simulated. To run it, a
// LoadedPlan (loaded_plan.h) finds kernels and functions by the nodes that commands name; module
// path and source line of a command are its node's origin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/kernels/base/work_class.h"

namespace lockstep {

/// A range of bytes in one of the memories that an execution binds.
enum class Area : std::uint8_t { kInput, kOutput, kArena, kConstant };
struct BufferSlice {
  Area area = Area::kArena;
  std::int32_t index = 0;   ///< which input or output; 0 for the arena and the constants
  std::int64_t offset = 0;  ///< bytes
  std::int64_t bytes = 0;
  friend bool operator==(const BufferSlice&, const BufferSlice&) = default;
};

enum class CommandKind : std::uint8_t {
  kKernel,
  kCopy,        ///< operands[0] -> results[0]
  kCollective,  ///< reduce_scatter, all_gather, collective_broadcast; replica_id
  kHostCall,    ///< a function on the host: operands are copied there, results from there
};

/// The kind of command that computes an op: none for leaves, reshapes, group results, calls and the
/// all_reduces between programs. In addition, any value may be copied.
std::optional<CommandKind> command_kind(Op op);

struct Command {
  CommandKind kind = CommandKind::kKernel;
  WorkClass work = WorkClass::kFused;  ///< the class in which it is counted
  ValueId value = kNoValue;            ///< the node that it computes; for a fusion with all results
  std::vector<BufferSlice> operands;
  std::vector<BufferSlice> results;
  BufferSlice scratch;
  /// Runs at once with the command before it: both have task kernels, neither depends on the other
  /// or writes what the other reads or writes. See next_bundle().
  bool with_previous = false;
  /// Is part of the chain of the command before it: both are separate bundles with task kernels,
  /// and a task of this one begins as soon as its operands are written. See next_chain().
  bool chained = false;
  /// Outputs that are complete after this command, and that no later one reads.
  std::vector<std::int32_t> finishes;
  double flops = 0;
  double bytes = 0;  ///< read and written
  friend bool operator==(const Command&, const Command&) = default;
};

struct Plan {
  Graph graph;  ///< fused and scheduled: the nodes that commands refer to, and the constants' bytes
  std::vector<Command> commands;
  std::int64_t arena_bytes = 0;
  std::int64_t constant_bytes = 0;
  std::vector<BufferSlice> constants;  ///< where each kConstant node of `graph` lies, in order
  /// Output i lies in the memory of input donated_inputs[i] (written in place), or if -1 in its
  /// own.
  std::vector<std::int32_t> donated_inputs;
  std::vector<std::int32_t> ready_outputs;  ///< complete before the first command
  std::int64_t peak_bytes = 0;              ///< arena + outputs that are not donated
  std::string largest_values;  ///< the ten largest values alive at the peak, a line each
};

/// Commands [begin, next_bundle(plan, begin)) run at once: a bundle, usually of one command.
inline std::size_t next_bundle(const Plan& plan, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < plan.commands.size() && plan.commands[end].with_previous) ++end;
  return end;
}
/// Commands [begin, next_chain(plan, begin)) run before the next ones begin: a chain, usually of
/// one bundle.
inline std::size_t next_chain(const Plan& plan, std::size_t begin) {
  std::size_t end = next_bundle(plan, begin);
  while (end < plan.commands.size() && plan.commands[end].chained) ++end;
  return end;
}
inline std::size_t count_bundles(const Plan& plan) {
  std::size_t count = 0;
  for (std::size_t c = 0; c < plan.commands.size(); c = next_bundle(plan, c)) ++count;
  return count;
}

}  // namespace lockstep
