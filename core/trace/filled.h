// The key of a constant in every place of a type, which a trace records once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/api.h"
#include "core/ir/type.h"

namespace LOCKSTEP_API lockstep {

struct Filled {
  std::uint64_t bits;  ///< of the number
  Type type;
  friend bool operator==(const Filled&, const Filled&) = default;
};

struct FilledHasher {
  std::size_t operator()(const Filled& filled) const;
};

}  // namespace lockstep
