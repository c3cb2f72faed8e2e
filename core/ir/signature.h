// Whether a node has the attributes that its op takes, for parser and verifier.
#pragma once

#include <string>

#include "core/ir/attrs.h"
#include "core/ir/op.h"

namespace lockstep {

/// What is wrong with a node's attributes: one missing, one that the op does not take, or a wrong
/// number of values. Empty if nothing is.
std::string check_attrs(Op op, const Attrs& attrs);

}  // namespace lockstep
