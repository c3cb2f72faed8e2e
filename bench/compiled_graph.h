// A graph in text form, compiled as in production and with memory, so that a benchmark can run the
// same code as a training step.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "collectives/single.h"
#include "core/base/thread_pool.h"
#include "core/engine/compile.h"
#include "core/runtime/executor.h"
#include "core/trace/context.h"

namespace lockstep {

class CompiledGraph {
 public:
  /// Inputs hold numbers in (0, 1], small integers, and flags that are true. A donated output
  /// overwrites its input.
  explicit CompiledGraph(const Graph& graph, int threads = 1);
  /// A program that was compiled before.
  explicit CompiledGraph(const Plan& plan, int threads = 1);
  /// The text form, see core/ir/text.h.
  explicit CompiledGraph(std::string_view text, int threads = 1);

  void run();

  const Plan& plan() const { return *loaded_.plan; }
  double flops() const;  ///< of one run
  /// Bytes that any implementation must read and write in one run: inputs and outputs, each once.
  double compulsory_bytes() const;

 private:
  LoadedPlan loaded_;
  ThreadPool pool_;
  std::unique_ptr<Communicator> communicator_ = make_single_communicator();
  std::vector<BufferPtr> buffers_;
  PlanMemory memory_;
};

/// The graph that `record` records; its outputs are the returned tensors. Make inputs with
/// input_of.
Graph trace_graph(const std::function<std::vector<Tensor>(TraceContext&)>& record);

/// An input without a value, for a graph that is compiled but not run.
Tensor input_of(TraceContext& context, const Type& type, InputKind kind, std::string_view name);

}  // namespace lockstep
