// Functions on the host for tests that call one and do not depend on what it computes.
#pragma once

#include <algorithm>
#include <vector>

#include "core/ir/host_function.h"
#include "core/ir/type_list.h"

namespace lockstep {

/// Result k is operand k with its elements in reverse order, for every dtype and shape.
inline HostFunction reverse_function() {
  return {"reverse", 1, [](std::span<const HostTensor> in, std::span<HostTensor> out) {
            for (std::size_t k = 0; k < out.size(); ++k) {
              const std::size_t size = size_of(in[k].dtype());
              const auto from = in[k].bytes();
              const auto to = out[k].bytes();
              for (std::size_t at = 0; at < from.size(); at += size)
                std::ranges::copy(
                    from.subspan(at, size),
                    to.begin() + static_cast<std::ptrdiff_t>(from.size() - at - size));
            }
          }};
}

/// Only that function.
inline HostFunctions only_reverse() {
  HostFunctions out;
  out.add(reverse_function());
  return out;
}

/// The types of a call of reverse_function().
inline Attrs reverse_attrs(ArrayRef<Type> types) {
  Attrs out;
  out.set_text(Attr::kFunction, "reverse");
  out.set_int(Attr::kVersion, 1);
  out.set(Attr::kResults, write_type_list(types));
  return out;
}

}  // namespace lockstep
