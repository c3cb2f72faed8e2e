// Types as words: how attributes hold a list of types. A type is its dtype, its rank and its sizes.
#pragma once

#include <vector>

#include "core/ir/attrs.h"
#include "core/ir/graph.h"

namespace lockstep {

Attrs::Ints write_type_list(ArrayRef<Type> types);

/// Whether the words are a list that write_type_list could have made.
bool is_type_list(IntView words);

// Of such a list only.
std::vector<Type> read_type_list(IntView words);
std::size_t count_types(IntView words);

}  // namespace lockstep
