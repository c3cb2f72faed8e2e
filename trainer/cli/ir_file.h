// What the `ir` commands share: reading FILE.ir.
#pragma once

#include <string>

#include "core/ir/graph.h"

namespace lockstep {

/// The graph of a file in the IR's text form (core/ir/text.h), which the specification of the IR
/// (core/ir/verify.h) accepts. Error kUsage naming the file.
Graph read_ir_file(const std::string& path);

}  // namespace lockstep
