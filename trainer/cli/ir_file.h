// Reads FILE.ir for the `ir` commands.
#pragma once

#include <optional>
#include <string>

#include "core/ir/graph.h"

namespace lockstep {

/// The graph of a file in the IR's text form (core/ir/text.h), verified (core/ir/verify.h); its
/// collectives are for `ranks` ranks, if given. Error kUsage naming the file.
Graph read_ir_file(const std::string& path, std::optional<int> ranks = std::nullopt);

}  // namespace lockstep
