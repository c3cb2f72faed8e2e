// <run>/profile/program.json: the step program that ran most, command by command, and the device
// memory that it lives in. Rank 0 writes it at the end of a run with profile.ledger.
//   {"format": "lockstep program", "version": 1, "steps": 198, "micro_batches": 2,
//    "peak_bytes": 73400320, "limit_bytes": 0,
//    "memory": [{"kind": "parameters", "bytes": 4194304}, ...],
//    "programs": [{"name": "gradient", "arena_bytes": 8388608, "output_bytes": 4194304,
//                  "constant_bytes": 64,
//                  "commands": [{"op": "fusion f32[64,512] (...)", "work": "fused",
//                                "module": "fc1", "line": "vision.cpp:30", "ms": 0.2,
//                                "flops": 2.6e8, "bytes": 1.1e7,
//                                "body": [{"op": "add f32[64,512]", "module": "fc1",
//                                          "line": "vision.cpp:30"}, ...]}, ...],
//                  "live_bytes": [65536, ...],
//                  "values": [{"name": "dot_general f32[64,512]", "module": "fc1",
//                              "line": "vision.cpp:30", "bytes": 131072, "first": 3, "last": 80},
//                             ...]}, ...]}
// Times and amounts of a command are means over the program's measured steps: of all micro-batches
// of a step. Commands that run at once are measured together: "ms" is at the first of them, the
// others have "with_previous": true. "body" is there for fused kernels only.
//
// "live_bytes" has for each command what core/observe/live_values.h counts, "values" the largest of
// these values. "memory" are the parts of "peak_bytes", the most that the rank's device had in use
// (memory/peak_bytes in metrics.jsonl): trainer/job/memory_parts.h says which. Constants are no
// part of it: they lie in the host's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/observe/ledger.h"

namespace lockstep {

struct ProgramRecord {
  /// An op in the body of a fused kernel.
  struct FusedOp {
    std::string op;  ///< and type: "add f32[64,512]"
    std::string module = {};
    std::string line = {};
  };
  struct CommandRecord {
    std::string op;  ///< see signature_of()
    std::string work;
    std::string module = {};
    std::string line = {};
    bool with_previous = false;  ///< is measured with the command before it
    double ms = 0;               ///< of a step
    double flops = 0;            ///< the same
    double bytes = 0;            ///< the same, read and written
    std::vector<FusedOp> body = {};
  };
  struct ValueRecord {
    std::string name = {};  ///< op and type, "dot_general f32[64,512]"
    std::string module = {};
    std::string line = {};
    std::int64_t bytes = 0;
    std::int64_t first = 0;  ///< command of its life
    std::int64_t last = 0;   ///< the same
  };
  struct Program {
    std::string name = {};  ///< "gradient" or "update"
    std::int64_t arena_bytes = 0;
    std::int64_t output_bytes = 0;    ///< of outputs that do not overwrite an input
    std::int64_t constant_bytes = 0;  ///< in the host's memory
    std::vector<CommandRecord> commands = {};
    std::vector<std::int64_t> live_bytes = {};  ///< per command
    std::vector<ValueRecord> values = {};       ///< the largest kMaxValues, the largest first
  };
  struct MemoryPart {
    std::string kind;
    std::int64_t bytes = 0;
  };
  static constexpr std::size_t kMaxValues = 200;

  std::int64_t steps = 0;    ///< of the program that were measured
  double micro_batches = 0;  ///< of a step
  std::int64_t peak_bytes = 0;
  std::int64_t limit_bytes = 0;  ///< 0: there is none
  std::vector<MemoryPart> memory;
  std::vector<Program> programs;  ///< without one that has no commands
};

/// Without the memory.
ProgramRecord record_of(const MeasuredProgram& measured);

std::string to_json(const ProgramRecord& record);

/// The inverse. Error kUsage, naming `where`, for text that to_json did not write.
ProgramRecord parse_program_record(std::string_view text, const std::string& where);

/// Replaces the file. Logs a warning if the disk fails.
void write_program_record(const std::string& run_folder, const ProgramRecord& record, Log& log);

/// Nothing if the run has none. Error kUsage for a damaged one.
std::optional<ProgramRecord> read_program_record(const std::string& run_folder);

}  // namespace lockstep
