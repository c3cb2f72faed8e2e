// Which commands write the next values of inputs, for passes that let commands run at once: a
// command cannot replace an input in place while a reader of the input runs beside it.
#pragma once

#include <vector>

#include "core/ir/graph.h"
#include "core/passes/buffer_aliases.h"

namespace lockstep {

class ReplacedInputs {
 public:
  ReplacedInputs(const Graph& graph, const BufferAliases& aliases);

  /// Records the next command in the order of the graph.
  void run(ValueId command);
  /// Whether a recorded command, `first` or one after it, reads an input that `command` replaces.
  bool are_read_since(ValueId first, ValueId command) const;

 private:
  const Graph& graph_;
  const BufferAliases& aliases_;
  std::vector<ValueId> last_reader_;            ///< by owner
  std::vector<std::vector<ValueId>> replaced_;  ///< by command
};

}  // namespace lockstep
