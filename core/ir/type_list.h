// Types as words: how attributes hold a list of types. A type is its dtype, its rank and its sizes.
#pragma once

#include <vector>

#include "core/ir/attrs.h"
#include "core/ir/graph.h"

namespace lockstep {

Attrs::Ints write_type_list(ArrayRef<Type> types);

/// Whether the words are a valid result of write_type_list.
bool is_type_list(IntView words);

// The words must be such a list.
std::vector<Type> read_type_list(IntView words);
std::size_t count_types(IntView words);

}  // namespace lockstep
