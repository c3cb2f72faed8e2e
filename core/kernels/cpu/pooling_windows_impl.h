// How pooling_loops_impl.h iterates over the vectors of channels of a place, over windows, and over
// the elements they cover.
#pragma once

#include "core/kernels/cpu/pooling_lanes.h"
#include "core/kernels/cpu/pooling_loops.h"

namespace lockstep::pooling_impl {

/// visit.operator()<Lanes, count>(channel) for vectors that cover all channels, `count` of them
/// from that one on. The last may cover some channels again: these are computed and written twice,
/// with equal results.
template <class L, class Visit>
[[gnu::always_inline]] inline void visit_vectors(std::int64_t channels, const Visit& visit) {
  constexpr int kSide = 4;
  std::int64_t c = 0;
  for (; c + kSide * L::kWidth <= channels; c += kSide * L::kWidth)
    visit.template operator()<L, kSide>(c);
  for (; c + L::kWidth <= channels; c += L::kWidth) visit.template operator()<L, 1>(c);
  if (c < channels) visit.template operator()<L, 1>(channels - L::kWidth);
}
template <Isa kIsa, class Visit>
[[gnu::always_inline]] inline void visit_channels(std::int64_t channels, const Visit& visit) {
  constexpr int kWide = kIsa == Isa::kAvx512 ? 16 : 8;
  if (channels >= kWide) return visit_vectors<Lanes<kIsa, kWide>>(channels, visit);
  if (channels >= 4) return visit_vectors<Lanes<kIsa, 4>>(channels, visit);
  visit_vectors<Lanes<kIsa, 1>>(channels, visit);
}

/// The part of an image that a window covers, from some channel on.
template <class T>
struct Seen {
  const T* x;            ///< the first element
  std::int64_t rows;     ///< 0 or less if there is none
  std::int64_t columns;  ///< likewise
  std::int64_t x_row;    ///< from a row to the next
  std::int64_t x_column;
  std::int64_t tap;      ///< the first element's place in the window
  std::int64_t tap_row;  ///< the window's columns

  [[gnu::always_inline]] bool is_empty() const { return rows <= 0 || columns <= 0; }
};

/// visit(window, part that it covers) for a row of windows.
template <class T, class Visit>
[[gnu::always_inline]] inline void for_each_window(const PoolShape& shape, const T* x,
                                                   std::int64_t row, const Visit& visit) {
  const PoolAxis::Range rows = shape.rows.seen_by(row);
  const std::int64_t row_tap = (rows.begin - shape.rows.first(row)) * shape.columns.window;
  for (std::int64_t j = 0; j < shape.columns.windows; ++j) {
    const PoolAxis::Range columns = shape.columns.seen_by(j);
    visit(j, Seen<T>{x + (rows.begin * shape.columns.size + columns.begin) * shape.channels,
                     rows.end - rows.begin, columns.end - columns.begin,
                     shape.columns.size * shape.channels, shape.channels,
                     row_tap + columns.begin - shape.columns.first(j), shape.columns.window});
  }
}

/// visit_tap(element, tap) for the elements of a window in row-major order.
template <class T, class VisitTap>
[[gnu::always_inline]] inline void for_each_tap(const Seen<T>& seen, std::int64_t channel,
                                                const VisitTap& visit_tap) {
  for (std::int64_t r = 0; r < seen.rows; ++r) {
    const T* at = seen.x + r * seen.x_row + channel;
    for (std::int64_t c = 0; c < seen.columns; ++c)
      visit_tap(at + c * seen.x_column, seen.tap + r * seen.tap_row + c);
  }
}

}  // namespace lockstep::pooling_impl
