// Which attributes each op takes: what op.h writes in braces, as a table for parser and verifier.
#pragma once

#include <string>
#include <vector>

#include "core/ir/attrs.h"
#include "core/ir/op.h"

namespace lockstep {

struct AttrSignature {
  std::vector<Attr> required;
  std::vector<Attr> optional;
};
const AttrSignature& attr_signature(Op op);

/// What is wrong with a node's attributes: one missing, one that the op does not take, or a wrong
/// number of values. Empty if nothing is.
std::string check_attrs(Op op, const Attrs& attrs);

}  // namespace lockstep
