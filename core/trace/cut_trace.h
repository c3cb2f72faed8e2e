// The result of cutting a trace: a graph, the values it is bound to, and the reason for the cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/api.h"
#include "core/ir/graph.h"
#include "core/trace/mode_place.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

/// The line alone, without folders: "model.cpp:41".
Origin origin_of(const std::source_location& where);

/// Why a trace was cut.
enum class SyncReason : std::uint8_t {
  kMarkStep,    ///< the user's mark_step
  kStepEnd,     ///< the training loop's end of step
  kValueRead,   ///< item() or to_host() of a pending tensor
  kEvaluation,  ///< a batch of an evaluation
  kCheckpoint,  ///< the values that a checkpoint saves
};
std::string_view name_of(SyncReason reason);  ///< as in reports: "value read"

/// A cut trace: the graph of all live tensors and what its inputs and outputs are bound to.
struct CutTrace {
  Graph graph;                         ///< without what no output needs
  std::vector<TensorValuePtr> inputs;  ///< one per Graph::inputs
  /// One per Graph::outputs: the live tensors, ordered by creation. They are bound to their
  /// placeholders by bind() before anything else is recorded.
  std::vector<TensorState*> outputs;
  std::size_t recorded = 0;            ///< number of nodes, with those that no output needs
  std::vector<DroppedOp> dropped;      ///< those that no output needs
  std::uint32_t modes = 0;             ///< of the recording, see describe_modes() in mode.h
  std::vector<ModePlace> mode_places;  ///< see ModePlace

  /// Binds output i to values[i].
  void bind(std::span<const TensorValuePtr> values) const;
};

}  // namespace lockstep
