// Vectors as host tensors.
#pragma once

#include <vector>

#include "core/base/buffer.h"

namespace lockstep {

inline HostTensor floats(const std::vector<float>& values) {
  return HostTensor::of(Shape{static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace lockstep
