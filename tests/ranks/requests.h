// Requests of collectives on vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "core/runtime/communicator.h"

namespace lockstep {

template <class T>
CollectiveRequest request_of(CollectiveKind kind, std::vector<T>& data, std::int64_t count) {
  CollectiveRequest out;
  out.kind = kind;
  out.data = reinterpret_cast<std::byte*>(data.data());
  out.dtype = DTypeOf<T>::value;
  out.count = count;
  return out;
}

template <class T>
CollectiveRequest all_reduce_of(std::vector<T>& data) {
  return request_of(CollectiveKind::kAllReduce, data, static_cast<std::int64_t>(data.size()));
}

}  // namespace lockstep
