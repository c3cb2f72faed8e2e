// Which commands write the next values of inputs, for who lets commands run at once: a command that
// runs beside a reader of the input that it replaces cannot do so in place.
#pragma once

#include <vector>

#include "core/ir/graph.h"
#include "core/passes/buffer_aliases.h"

namespace lockstep {

class ReplacedInputs {
 public:
  ReplacedInputs(const Graph& graph, const BufferAliases& aliases);

  /// The next command in the order of the graph runs.
  void run(ValueId command);
  /// Whether a command that ran, `first` or one behind it, reads an input that `command` replaces.
  bool are_read_since(ValueId first, ValueId command) const;

 private:
  const Graph& graph_;
  const BufferAliases& aliases_;
  std::vector<ValueId> last_reader_;            ///< by owner
  std::vector<std::vector<ValueId>> replaced_;  ///< by command
};

}  // namespace lockstep
