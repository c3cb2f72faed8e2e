// Checks that a node has the attributes its op takes, for parser and verifier.
#pragma once

#include <string>

#include "core/ir/attrs.h"
#include "core/ir/op.h"

namespace lockstep {

/// The error in a node's attributes: one is missing, the op does not take one, or the number of
/// values is wrong. Empty if there is no error.
std::string check_attrs(Op op, const Attrs& attrs);

}  // namespace lockstep
