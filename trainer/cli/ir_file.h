// What the `ir` commands share: reading FILE.ir.
#pragma once

#include <optional>
#include <string>

#include "core/ir/graph.h"

namespace lockstep {

/// The graph of a file in the IR's text form (core/ir/text.h), which the specification of the IR
/// (core/ir/verify.h) accepts; its collectives are for `ranks`, if given. Error kUsage naming the
/// file.
Graph read_ir_file(const std::string& path, std::optional<int> ranks = std::nullopt);

}  // namespace lockstep
