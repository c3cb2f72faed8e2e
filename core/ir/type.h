// The type of a value: what a tensor holds, without its contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/api.h"
#include "core/base/dtype.h"
#include "core/base/shape.h"

namespace LOCKSTEP_API lockstep {

/// dtype and shape; prints as "f32[8,64]".
struct Type {
  DType dtype = DType::kF32;                                  ///< the element type
  Shape shape;                                                ///< the dimensions
  std::int64_t elements() const { return shape.elements(); }  ///< number of elements
  /// Of all elements, without padding.
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }
  std::string to_string() const;  ///< "f32[8,64]"
  friend bool operator==(const Type&, const Type&) = default;
};

}  // namespace lockstep
