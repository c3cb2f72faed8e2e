#include "core/nn/positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace lockstep {
namespace {

constexpr double kSinusoidBase = 10000.0;

HostTensor sinusoids(const std::string& path, std::int64_t positions, std::int64_t width,
                     SinusoidalPositions::Order order) {
  LS_USER_CHECK(positions > 0 && width > 0 && width % 2 == 0,
                "'{}' of {} positions and width {}: the width must be even, and both positive",
                path, positions, width);
  const bool interleaved = order == SinusoidalPositions::Order::kInterleaved;
  const std::vector<double> frequency = Rotary{kSinusoidBase}.frequencies(width);
  std::vector<float> table(static_cast<std::size_t>(positions * width));
  for (std::int64_t t = 0; t < positions; ++t)
    for (std::int64_t i = 0; i < width / 2; ++i) {
      const double angle = static_cast<double>(t) * frequency[static_cast<std::size_t>(i)];
      const std::int64_t sine = t * width + (interleaved ? 2 * i : i);
      table[static_cast<std::size_t>(sine)] = static_cast<float>(std::sin(angle));
      table[static_cast<std::size_t>(sine + (interleaved ? 1 : width / 2))] =
          static_cast<float>(std::cos(angle));
    }
  return HostTensor::of(Shape{positions, width}, table);
}

}  // namespace

std::vector<double> Rotary::frequencies(std::int64_t size) const {
  constexpr double kTurn = 2 * std::numbers::pi;
  std::vector<double> out;
  for (std::int64_t i = 0; i < size / 2; ++i) {
    const double frequency =
        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(size));
    if (low_freq_factor == high_freq_factor) {
      out.push_back(frequency / factor);
      continue;
    }
    const double turns = original_positions * frequency / kTurn;  // in the original context
    const double kept =
        std::clamp((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0.0, 1.0);
    out.push_back(frequency * (kept + (1 - kept) / factor));
  }
  return out;
}

Tensor rotary_embedding(const Tensor& x, const Rotary& rotary, const Tensor& positions,
                        Where where) {
  TraceContext& context = context_of("rotary_embedding", {&x}, where);
  const LocationScope line(context, where);
  LS_USER_CHECK(x.shape().rank() == 4 && x.size(3) % 2 == 0 && is_float(x.dtype()),
                "{}: rotary embedding takes a float [B,T,H,D] with an even D, not {}",
                context.origin().to_string(), x.type().to_string());
  LS_USER_CHECK(!positions.defined() || positions.shape() == Shape({x.size(0), x.size(1)}),
                "{}: rotary embedding of {} takes positions [B,T], not {}",
                context.origin().to_string(), x.type().to_string(), positions.type().to_string());
  const std::int64_t half = x.size(3) / 2;
  const Tensor frequency = context.constant(
      from_doubles(DType::kF32, Shape{half}, rotary.frequencies(x.size(3))), where);
  const Tensor position = [&] {
    if (!positions.defined()) return iota(context, Shape{x.size(1), 1, half}, 0, DType::kF32);
    const Shape table{x.size(0), x.size(1), 1, half};
    return broadcast_in_dim(convert(positions, DType::kF32), table, {0, 1});
  }();
  const Tensor angle = position * frequency;  // [(B,)T,1,D/2]
  const Tensor cosine = cos(angle), sine = sin(angle);
  // Halves are converted, not the whole, so that one group reads and writes them in place.
  const Tensor a = convert(slice_dim(x, 3, 0, half), DType::kF32);
  const Tensor b = convert(slice_dim(x, 3, half, 2 * half), DType::kF32);
  const std::array<Tensor, 2> turned{convert(a * cosine - b * sine, x.dtype()),
                                     convert(b * cosine + a * sine, x.dtype())};
  return concatenate(turned, 3);
}

SinusoidalPositions::SinusoidalPositions(Module& parent, std::string_view name,
                                         std::int64_t positions, std::int64_t width, Order order)
    : Module(parent, name), weight_(buffer("weight", sinusoids(path(), positions, width, order))) {}

Tensor SinusoidalPositions::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope = enter(x, where);
  const Shape& table = weight_.shape();
  LS_USER_CHECK(x.shape().rank() == 3 && x.size(2) == table[1] && x.size(1) <= table[0],
                "{}: '{}' takes [B,T,{}] with at most {} positions T, not {}",
                x.context().origin().to_string(), path(), table[1], table[0], x.type().to_string());
  const Tensor positions = slice_dim(weight_.get(), 0, 0, x.size(1));
  return convert(convert(x, DType::kF32) + positions, x.dtype());
}

}  // namespace lockstep
