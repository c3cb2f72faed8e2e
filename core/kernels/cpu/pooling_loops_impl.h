// PoolingLoops for one instruction set; included only by the sources compiled for one.
#pragma once

#include <limits>

#include "core/kernels/cpu/pooling_windows_impl.h"

namespace lockstep::pooling_impl {

/// best = the maxima of a window, tap = their indices.
template <class L, int kCount, class T>
[[gnu::always_inline]] inline void find_maxima(const Seen<T>& seen, std::int64_t channel,
                                               typename L::Vector (&best)[kCount],
                                               typename L::Words (&tap)[kCount]) {
  const auto first = static_cast<std::int32_t>(seen.is_empty() ? -1 : seen.tap);
  for (int k = 0; k < kCount; ++k) {
    best[k] = typename L::Vector{} - std::numeric_limits<float>::infinity();
    tap[k] = typename L::Words{} + first;
  }
  for_each_tap(seen, channel, [&](const T* x, std::int64_t place) {
    const auto here = typename L::Words{} + static_cast<std::int32_t>(place);
    for (int k = 0; k < kCount; ++k) {
      const auto candidate = load<L>(x + k * L::kWidth);
      const auto better = L::exceeds(candidate, best[k]);
      best[k] = L::choose(better, candidate, best[k]);
      tap[k] = L::choose(better, here, tap[k]);
    }
  });
}

template <Isa kIsa, class T>
void max(const PoolShape& shape, const T* x, std::int64_t row, T* y) {
  for_each_window(shape, x, row, [&](std::int64_t j, const Seen<T>& seen) {
    visit_channels<kIsa>(shape.channels, [&]<class L, int kCount>(std::int64_t c) {
      typename L::Vector best[kCount];
      typename L::Words tap[kCount];
      find_maxima<L, kCount>(seen, c, best, tap);
      for (int k = 0; k < kCount; ++k)
        store<L>(best[k], y + j * shape.channels + c + k * L::kWidth);
    });
  });
}

template <Isa kIsa, class T>
void winners(const PoolShape& shape, const T* x, std::int64_t row, std::int32_t* out) {
  for_each_window(shape, x, row, [&](std::int64_t j, const Seen<T>& seen) {
    visit_channels<kIsa>(shape.channels, [&]<class L, int kCount>(std::int64_t c) {
      typename L::Vector best[kCount];
      typename L::Words tap[kCount];
      find_maxima<L, kCount>(seen, c, best, tap);
      for (int k = 0; k < kCount; ++k)
        store_words<L>(tap[k], out + j * shape.channels + c + k * L::kWidth);
    });
  });
}

template <Isa kIsa, class T>
void average(const PoolShape& shape, const T* x, std::int64_t row, T* y) {
  const auto divisor = static_cast<float>(shape.window());
  for_each_window(shape, x, row, [&](std::int64_t j, const Seen<T>& seen) {
    visit_channels<kIsa>(shape.channels, [&]<class L, int kCount>(std::int64_t c) {
      typename L::Vector sum[kCount] = {};
      for_each_tap(seen, c, [&](const T* at, std::int64_t) {
        for (int k = 0; k < kCount; ++k) sum[k] += load<L>(at + k * L::kWidth);
      });
      for (int k = 0; k < kCount; ++k)
        store<L>(sum[k] / divisor, y + j * shape.channels + c + k * L::kWidth);
    });
  });
}

template <Isa kIsa, class T>
void shares(const PoolShape& shape, const T* dy, std::int64_t row, float* out) {
  const auto divisor = static_cast<float>(shape.window());
  const std::int64_t count = shape.y_row();
  const T* from = dy + row * count;
  visit_channels<kIsa>(count, [&]<class L, int kCount>(std::int64_t c) {
    for (int k = 0; k < kCount; ++k) {
      const std::int64_t i = c + k * L::kWidth;
      store<L>(load<L>(from + i) / divisor, out + i);
    }
  });
}

/// dx = the sum that add<Lanes, count>(sum, place in the ring, place in dy, element of its window)
/// makes for each column and vectors of channels, over the windows that cover it.
template <Isa kIsa, class T, class Add>
[[gnu::always_inline]] inline void gradient(const PoolShape& shape, const SeeingRows& windows,
                                            std::int64_t row, T* dx, const Add& add) {
  const PoolAxis& columns = shape.columns;
  const std::int64_t first_slot = windows.range.begin % windows.slots;
  PoolAxis::Range seeing{0, 0};
  for (std::int64_t column = 0; column < columns.size; ++column, dx += shape.channels) {
    columns.advance(seeing, column);
    visit_channels<kIsa>(shape.channels, [&]<class L, int kCount>(std::int64_t c) {
      typename L::Vector sum[kCount] = {};
      std::int64_t slot = first_slot;
      for (std::int64_t i = windows.range.begin; i < windows.range.end; ++i) {
        const std::int64_t row_tap = (row - shape.rows.first(i)) * columns.window + column;
        for (std::int64_t j = seeing.begin; j < seeing.end; ++j)
          add.template operator()<L, kCount>(sum, (slot * columns.windows + j) * shape.channels + c,
                                             (i * columns.windows + j) * shape.channels + c,
                                             row_tap - columns.first(j));
        slot = slot + 1 == windows.slots ? 0 : slot + 1;
      }
      for (int k = 0; k < kCount; ++k) store<L>(sum[k], dx + c + k * L::kWidth);
    });
  }
}

template <Isa kIsa, class T>
void max_grad(const PoolShape& shape, const SeeingRows& windows, std::int64_t row, T* dx) {
  const auto* taps = reinterpret_cast<const std::int32_t*>(windows.ring);
  const auto* dy = reinterpret_cast<const T*>(windows.dy);
  gradient<kIsa>(shape, windows, row, dx,
                 [&]<class L, int kCount>(typename L::Vector(&sum)[kCount], std::int64_t in_ring,
                                          std::int64_t in_dy, std::int64_t tap) {
                   const auto here = typename L::Words{} + static_cast<std::int32_t>(tap);
                   for (int k = 0; k < kCount; ++k) {
                     const auto winner = load_words<L>(taps + in_ring + k * L::kWidth);
                     sum[k] = L::add_where(L::equal(winner, here), sum[k],
                                           load<L>(dy + in_dy + k * L::kWidth));
                   }
                 });
}

template <Isa kIsa, class T>
void average_grad(const PoolShape& shape, const SeeingRows& windows, std::int64_t row, T* dx) {
  const auto* parts = reinterpret_cast<const float*>(windows.ring);
  gradient<kIsa>(shape, windows, row, dx,
                 [&]<class L, int kCount>(typename L::Vector(&sum)[kCount], std::int64_t in_ring,
                                          std::int64_t, std::int64_t) {
                   for (int k = 0; k < kCount; ++k)
                     sum[k] += load<L>(parts + in_ring + k * L::kWidth);
                 });
}

/// f with an element of the dtype.
template <class F>
[[gnu::always_inline]] inline void typed(DType dtype, const F& f) {
  if (dtype == DType::kF32) f(float{});
  if (dtype == DType::kBF16) f(BF16{});
  if (dtype == DType::kF16) f(F16{});
}

template <Isa kIsa>
inline constexpr PoolingLoops kTable = {
    .max =
        [](DType dtype, const PoolShape& shape, const std::byte* x, std::int64_t row,
           std::byte* y) {
          typed(dtype, [&]<class T>(T) {
            max<kIsa>(shape, reinterpret_cast<const T*>(x), row, reinterpret_cast<T*>(y));
          });
        },
    .average =
        [](DType dtype, const PoolShape& shape, const std::byte* x, std::int64_t row,
           std::byte* y) {
          typed(dtype, [&]<class T>(T) {
            average<kIsa>(shape, reinterpret_cast<const T*>(x), row, reinterpret_cast<T*>(y));
          });
        },
    .winners =
        [](DType dtype, const PoolShape& shape, const std::byte* x, std::int64_t row,
           std::byte* out) {
          typed(dtype, [&]<class T>(T) {
            winners<kIsa>(shape, reinterpret_cast<const T*>(x), row,
                          reinterpret_cast<std::int32_t*>(out));
          });
        },
    .shares =
        [](DType dtype, const PoolShape& shape, const std::byte* dy, std::int64_t row,
           std::byte* out) {
          typed(dtype, [&]<class T>(T) {
            shares<kIsa>(shape, reinterpret_cast<const T*>(dy), row, reinterpret_cast<float*>(out));
          });
        },
    .max_grad =
        [](DType dtype, const PoolShape& shape, const SeeingRows& windows, std::int64_t row,
           std::byte* dx) {
          typed(dtype,
                [&]<class T>(T) { max_grad<kIsa>(shape, windows, row, reinterpret_cast<T*>(dx)); });
        },
    .average_grad =
        [](DType dtype, const PoolShape& shape, const SeeingRows& windows, std::int64_t row,
           std::byte* dx) {
          typed(dtype, [&]<class T>(T) {
            average_grad<kIsa>(shape, windows, row, reinterpret_cast<T*>(dx));
          });
        },
};

}  // namespace lockstep::pooling_impl
