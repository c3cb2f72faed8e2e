// Loops over elements that the compiler vectorizes. Everything is a template over the instruction
// set, so that no function is shared between sources compiled with different flags.
#pragma once

#include <cmath>

#include "core/kernels/cpu/element_binary.h"
#include "core/kernels/cpu/element_unary.h"
#include "core/kernels/cpu/tile_ops.h"

namespace lockstep::tile_loops {

/// in[i + j], or the one value there is.
template <bool kSingle, class T>
[[gnu::always_inline]] inline auto at(const T* in, std::int64_t i) {
  return widen(in[kSingle ? 0 : i]);
}

template <Isa kIsa, class F, class A, class R>
void unary(const TileArgs& args) {
  auto* out = reinterpret_cast<Stored<R>*>(args.out);
  const auto* a = reinterpret_cast<const Stored<A>*>(args.in[0]);
  for (std::int64_t i = 0; i < args.count; i += kTileBlock) {
#pragma GCC ivdep
    for (std::int64_t j = i; j < i + kTileBlock; ++j) out[j] = narrow<R>(F::apply(widen(a[j])));
  }
}

/// sin and cos: f32 arguments beyond the range of vector_math.h are redone one by one.
template <Isa kIsa, class F, class A>
void angle(const TileArgs& args) {
  auto* out = reinterpret_cast<Stored<A>*>(args.out);
  const auto* a = reinterpret_cast<const Stored<A>*>(args.in[0]);
  for (std::int64_t i = 0; i < args.count; i += kTileBlock) {
    Computed<A> x[kTileBlock];
    bool beyond = false;
    for (std::int64_t j = 0; j < kTileBlock; ++j) {
      x[j] = widen(a[i + j]);
      beyond |= __builtin_fabs(static_cast<double>(x[j])) > vector_math::kLargestAngle;
    }
    for (std::int64_t j = 0; j < kTileBlock; ++j) out[i + j] = narrow<A>(F::apply(x[j]));
    if (!beyond) continue;
    for (std::int64_t j = 0; j < kTileBlock; ++j) {
      const double wide = x[j];
      if (__builtin_fabs(wide) > vector_math::kLargestAngle)
        out[i + j] = narrow<A>(static_cast<Computed<A>>(F::apply(wide)));
    }
  }
}

template <Isa kIsa, class F, class A, class R, bool kSingleA, bool kSingleB>
void binary(const TileArgs& args) {
  auto* out = reinterpret_cast<Stored<R>*>(args.out);
  const auto* a = reinterpret_cast<const Stored<A>*>(args.in[0]);
  const auto* b = reinterpret_cast<const Stored<A>*>(args.in[1]);
  for (std::int64_t i = 0; i < args.count; i += kTileBlock) {
#pragma GCC ivdep
    for (std::int64_t j = i; j < i + kTileBlock; ++j)
      out[j] = narrow<R>(F::apply(at<kSingleA>(a, j), at<kSingleB>(b, j)));
  }
}

/// Chooses one stored pattern or the other, whatever it means.
template <Isa kIsa, class T, bool kSingleA, bool kSingleB>
void select(const TileArgs& args) {
  auto* out = reinterpret_cast<T*>(args.out);
  const auto* pred = reinterpret_cast<const std::uint8_t*>(args.in[0]);
  const auto* a = reinterpret_cast<const T*>(args.in[1]);
  const auto* b = reinterpret_cast<const T*>(args.in[2]);
  for (std::int64_t i = 0; i < args.count; i += kTileBlock) {
#pragma GCC ivdep
    for (std::int64_t j = i; j < i + kTileBlock; ++j) {
      const T on_true = at<kSingleA>(a, j);
      const T on_false = at<kSingleB>(b, j);
      out[j] = pred[j] != 0 ? on_true : on_false;
    }
  }
}

template <Isa kIsa, class A, class R>
void convert(const TileArgs& args) {
  auto* out = reinterpret_cast<Stored<R>*>(args.out);
  const auto* a = reinterpret_cast<const Stored<A>*>(args.in[0]);
  for (std::int64_t i = 0; i < args.count; i += kTileBlock) {
#pragma GCC ivdep
    for (std::int64_t j = i; j < i + kTileBlock; ++j)
      out[j] = narrow<R>(element::convert<R>(widen(a[j])));
  }
}

}  // namespace lockstep::tile_loops
