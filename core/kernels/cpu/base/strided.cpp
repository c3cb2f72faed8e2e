#include "core/kernels/cpu/base/strided.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/error.h"
#include "core/base/shape.h"

namespace lockstep {
namespace {

/// Calls f(offset, run, stride) for the runs along the innermost dimension that cover the view's
/// elements [start, start + count) in order.
template <class F>
void for_each_run(const StridedView& view, std::int64_t start, std::int64_t count, const F& f) {
  const auto rank = view.dims.size();
  std::array<std::int64_t, Shape::kMaxRank> at{};
  std::int64_t offset = 0;
  for (std::size_t d = rank; d-- > 0; start /= view.dims[d].size) {
    at[d] = start % view.dims[d].size;
    offset += at[d] * view.dims[d].stride;
  }
  const auto [inner, stride] = view.dims[rank - 1];
  while (true) {
    const std::int64_t run = std::min(count, inner - at[rank - 1]);
    f(offset, run, stride);
    count -= run;
    if (count == 0) return;
    offset -= at[rank - 1] * stride;
    at[rank - 1] = 0;
    for (std::size_t d = rank - 1; d-- > 0;) {
      offset += view.dims[d].stride;
      if (++at[d] < view.dims[d].size) break;
      offset -= view.dims[d].size * view.dims[d].stride;
      at[d] = 0;
    }
  }
}

template <class T>
void load_run(const T* from, std::int64_t run, std::int64_t stride, T* out) {
  if (stride == 1) {
    std::memcpy(out, from, static_cast<std::size_t>(run) * sizeof(T));
  } else if (stride == 0) {
    std::fill_n(out, run, *from);
  } else {
    for (std::int64_t i = 0; i < run; ++i) out[i] = from[i * stride];
  }
}

}  // namespace

StridedView::StridedView(ArrayRef<std::int64_t> sizes, ArrayRef<std::int64_t> strides) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (!dims.empty() && dims.back().stride == sizes[d] * strides[d]) {
      dims.back() = {dims.back().size * sizes[d], strides[d]};
    } else {
      dims.push_back({sizes[d], strides[d]});
    }
  }
}

bool StridedView::is_single() const {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.stride == 0; });
}

bool StridedView::is_contiguous() const {
  return dims.empty() || (dims.size() == 1 && dims[0].stride == 1);
}

void load_view(const StridedView& view, const std::byte* base, std::size_t bytes,
               std::int64_t start, std::int64_t count, std::byte* out) {
  if (count == 0) return;
  visit_bytes(bytes, [&](auto zero) {
    using T = decltype(zero);
    auto* to = reinterpret_cast<T*>(out);
    const auto* from = reinterpret_cast<const T*>(base);
    if (view.dims.empty()) {
      std::fill_n(to, count, *from);
    } else {
      for_each_run(view, start, count,
                   [&](std::int64_t offset, std::int64_t run, std::int64_t stride) {
                     load_run(from + offset, run, stride, to);
                     to += run;
                   });
    }
  });
}

void store_view(const StridedView& view, const std::byte* in, std::size_t bytes, std::int64_t start,
                std::int64_t count, std::byte* base) {
  if (count == 0) return;
  visit_bytes(bytes, [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const T*>(in);
    auto* to = reinterpret_cast<T*>(base);
    if (view.dims.empty()) {
      *to = *from;
      return;
    }
    for_each_run(view, start, count,
                 [&](std::int64_t offset, std::int64_t run, std::int64_t stride) {
                   if (stride == 1) {
                     std::memcpy(to + offset, from, static_cast<std::size_t>(run) * sizeof(T));
                   } else {
                     for (std::int64_t i = 0; i < run; ++i) to[offset + i * stride] = from[i];
                   }
                   from += run;
                 });
  });
}

void fill_value(const std::byte* value, std::size_t bytes, std::int64_t count, std::byte* out) {
  visit_bytes(bytes, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(reinterpret_cast<T*>(out), count, *reinterpret_cast<const T*>(value));
  });
}

}  // namespace lockstep
