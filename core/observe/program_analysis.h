// The lines that LOCKSTEP_DEBUG=1 logs for each program when it is compiled, or loaded from the
// disk, and for each execution; similar to PyTorch/XLA's PT_XLA_DEBUG_LEVEL=2. They are not made at
// level 0.
//
//   Compilation Analysis: program-2-step_end-9f2c1a2b, structure 9f2c1a2b...
//   Compilation Analysis:   Cause: input_shape: batch.tokens[length]: 57 -> 61
//   Compilation Analysis:   Cut by: step end on main.cpp:41, after step end on main.cpp:41
//   Compilation Analysis:   Recorded in: gpt2.cpp (812 nodes), adamw.cpp (611), ...
//   Compilation Analysis:   Graph: 2210 nodes (of 2304 recorded), training, f32
//   Compilation Analysis:   Inputs: 41: 20 parameter 8.00 MiB, 2 batch 4.00 KiB a micro-batch
//   Compilation Analysis:   Outputs: 42: 40 next values of inputs 24.00 MiB, 2 others 24 B
//   Compilation Analysis:   Donated: 40 inputs 24.00 MiB
//   Compilation Analysis:   Not donated, as no output is their next value: 2 batch
//   Compilation Analysis:   Not donated: w f32[8,8]: reduce_sum model.cpp:41 reads it when ...
//
//   For a graph that a read cut, only the next graph may show the cause:
//   Compilation Analysis:   Cause: follows with the next graph, as a read cut this one
//   Compilation Analysis:   Cause of program-3-value_read-17c2ab90: value_read: the read at ...
//
//   Post Compilation Analysis: program-2-step_end-9f2c1a2b, compiled in 1.3 s
//   Post Compilation Analysis:   Gradient program: 80 bundles of 120 commands, arena 12.00 MiB,
//   peak 14.00 MiB, constants 64 B, 2.621 GFLOP, 120.00 MiB read and written
//   Post Compilation Analysis:     dot 8: 2.500 GFLOP, 50.00 MiB; fused 40: ...
//   ...
//   Execution Analysis: step 5: step end on main.cpp:41, program-2-step_end-9f2c1a2b, 2210 nodes,
//   41 inputs 24.01 MiB, 42 outputs 24.00 MiB
//
// In place of stack frames, they name the lines that cut this graph and the one before, and the
// files in which it was recorded: executables export no symbols to name the frames of a stack.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/ir/graph.h"

namespace lockstep {

class GraphDescriptor;
struct CompiledStep;
struct Explanation;
struct LoadedStep;

/// "program-2-step_end-9f2c1a2b": the name of a program in analyses and of its dumped files. `id`
/// is the program's number in spans; for a program that is only planned it has none:
/// "plan-step_end-...".
std::string program_name(std::int64_t id, std::string_view reason, const Hash128& structure);

/// A miss of the cache: `graph` is the recorded one.
std::vector<std::string> compilation_analysis(const std::string& name, const GraphDescriptor& graph,
                                              const Explanation& why, const CompiledStep& step);

/// The line for a cause that only the next graph showed.
std::string cause_analysis(const std::string& name, const Explanation& why);

/// The result of a miss. `how`: "compiled in 1.3 s".
std::vector<std::string> post_compilation_analysis(const std::string& name,
                                                   const LoadedStep& program, std::string_view how);

/// One line of a step that is queued.
std::string execution_analysis(std::int64_t step, std::string_view cause, const std::string& name,
                               const Graph& graph);

}  // namespace lockstep
