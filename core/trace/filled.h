// The key of a constant in every place of a type, which a trace records once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/api.h"
#include "core/ir/type.h"

namespace LOCKSTEP_API lockstep {

/// A constant in every place of a type.
struct Filled {
  std::uint64_t bits;  ///< of the number
  Type type;           ///< of the constant
  friend bool operator==(const Filled&, const Filled&) = default;
};

/// Hashes a Filled, for std::unordered_map.
struct FilledHasher {
  std::size_t operator()(const Filled& filled) const;  ///< equal for equal keys
};

}  // namespace lockstep
