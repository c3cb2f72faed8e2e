#include "core/base/buffer.h"

#include <algorithm>
#include <new>
#include <type_traits>

namespace lockstep {

BufferPtr allocate_host(std::size_t bytes) {
  const std::size_t rounded =
      std::max<std::size_t>((bytes + Buffer::kAlignment - 1) / Buffer::kAlignment, 1) *
      Buffer::kAlignment;
  auto* data =
      static_cast<std::byte*>(::operator new (rounded, std::align_val_t{Buffer::kAlignment}));
  return std::make_shared<Buffer>(data, bytes, MemorySpace::kHost, [](std::byte* p, std::size_t) {
    ::operator delete (p, std::align_val_t{Buffer::kAlignment});
  });
}

std::vector<double> to_doubles(const HostTensor& tensor) {
  return visit_dtype(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<double> out;
    const auto values = tensor.as<const T>();
    out.reserve(values.size());
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, BF16>) {
        out.push_back(float_from_bf16(value.bits));
      } else if constexpr (std::is_same_v<T, F16>) {
        out.push_back(float_from_f16(value.bits));
      } else {
        out.push_back(static_cast<double>(value));
      }
    }
    return out;
  });
}

HostTensor from_doubles(DType dtype, Shape shape, std::span<const double> values) {
  HostTensor out(dtype, shape);
  LS_USER_CHECK(static_cast<std::int64_t>(values.size()) == shape.elements(),
                "{} values given for a tensor of shape {}", values.size(), shape.to_string());
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto to = out.as<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, BF16>) {
        to[i] = BF16{bf16_from_float(static_cast<float>(values[i]))};
      } else if constexpr (std::is_same_v<T, F16>) {
        to[i] = F16{f16_from_float(static_cast<float>(values[i]))};
      } else if constexpr (std::is_same_v<T, bool>) {
        to[i] = values[i] != 0;
      } else {
        to[i] = static_cast<T>(values[i]);
      }
    }
  });
  return out;
}

}  // namespace lockstep
