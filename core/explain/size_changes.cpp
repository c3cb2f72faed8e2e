#include "core/explain/size_changes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace lockstep {
namespace {

constexpr std::size_t kMaxPairs = 64;
constexpr std::size_t kMaxFactors = 16;  ///< of products
/// Ratios of sizes with terms beyond this are not met by accident.
constexpr std::int64_t kPlainRatio = 16;

double precision_of(DType dtype) {
  switch (dtype) {
    case DType::kBF16: return 8e-3;
    case DType::kF16: return 1e-3;
    case DType::kF64: return 1e-12;
    case DType::kF32:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kBool: return 1e-6;
  }
  __builtin_unreachable();
}

bool close(double a, double b, double precision) {
  return std::abs(a - b) <= precision * std::max(std::abs(a), std::abs(b));
}

/// Whether `old` and `now` are the same multiple of a size: k, or half of k, for a whole k; any,
/// where no accident gives such a ratio.
bool is_multiple(double old, double now, double old_size, double now_size, bool plain,
                 double precision) {
  const double factor = old / old_size;
  if (!close(factor, now / now_size, precision)) return false;
  const double twice = std::round(2 * factor);
  return !plain || (twice != 0 && close(2 * factor, twice, precision));
}

}  // namespace

void SizeChanges::add(std::int64_t old, std::int64_t now) {
  if (old == now || pairs_.size() >= kMaxPairs) return;
  const auto same = [&](const Pair& pair) { return pair.old == old && pair.now == now; };
  if (std::ranges::none_of(pairs_, same)) pairs_.push_back({old, now});
}

void SizeChanges::add(std::span<const std::int64_t> old, std::span<const std::int64_t> now) {
  if (old.size() != now.size()) return;
  const auto product = [](std::span<const std::int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  };
  for (std::size_t i = 0; i < old.size(); ++i) add(old[i], now[i]);
  add(product(old), product(now));
}

bool SizeChanges::explain(std::int64_t old, std::int64_t now) const {
  if (old == now) return true;
  const auto product = [](auto... x) { return (static_cast<double>(x) * ...); };
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& a = pairs_[i];
    if (now - old == a.now - a.old && 2 * old >= a.old) return true;
    if (product(old, a.now) == product(now, a.old) && old != 0) return true;
    if (i >= kMaxFactors) continue;
    for (std::size_t j = 0; j < std::min(pairs_.size(), kMaxFactors); ++j) {
      const Pair& b = pairs_[j];
      if (product(old, a.now, b.now) == product(now, a.old, b.old) && old != 0) return true;
    }
  }
  return false;
}

bool SizeChanges::explain(std::span<const std::int64_t> old,
                          std::span<const std::int64_t> now) const {
  if (old.size() != now.size()) return false;
  for (std::size_t i = 0; i < old.size(); ++i)
    if (!explain(old[i], now[i])) return false;
  return true;
}

bool SizeChanges::contains(std::int64_t old, std::int64_t now) const {
  return std::ranges::any_of(pairs_,
                             [&](const Pair& pair) { return old == pair.old && now == pair.now; });
}

bool SizeChanges::may_explain_rounded(std::int64_t old, std::int64_t now) const {
  return std::ranges::any_of(pairs_, [&](const Pair& pair) {
    if (pair.old <= 0 || (pair.now > pair.old) != (now > old)) return false;
    const double ratio = static_cast<double>(pair.now) / static_cast<double>(pair.old);
    return std::abs(static_cast<double>(now) - static_cast<double>(old) * ratio) <= ratio;
  });
}

bool SizeChanges::explain_bound(std::int64_t old, std::int64_t now, std::int64_t old_size,
                                std::int64_t now_size) const {
  if (old == now) return true;
  const bool from_end = old_size - old == now_size - now && 2 * old >= old_size;
  const bool part = old != 0 && old * now_size == now * old_size && old_size % old == 0;
  return from_end || part || contains(old, now);
}

bool SizeChanges::gives_number(double old, double now, DType dtype) const {
  const double precision = precision_of(dtype);
  using Function = double (*)(double);
  constexpr std::array<Function, 10> kFunctions = {
      [](double n) { return n; },
      [](double n) { return n - 1; },
      [](double n) { return n + 1; },
      [](double n) { return std::sqrt(n); },
      [](double n) { return std::sqrt(n - 1); },
      [](double n) { return n / (n - 1); },
      [](double n) { return std::log(n); },
      [](double n) { return n * n; },
      [](double n) { return n * (n - 1); },
      [](double n) { return n * (n - 1) / 2; },
  };
  const auto gives = [&](const Pair& pair) {
    return pair.old > 1 && pair.now > 1 && std::ranges::any_of(kFunctions, [&](Function f) {
             const double before = f(static_cast<double>(pair.old));
             const double after = f(static_cast<double>(pair.now));
             return (close(old, before, precision) && close(now, after, precision)) ||
                    (close(old, 1 / before, precision) && close(now, 1 / after, precision));
           });
  };
  return std::ranges::any_of(pairs_, gives);
}

bool SizeChanges::explain_number(double old, double now, DType dtype) const {
  const double precision = precision_of(dtype);
  for (const Pair& pair : pairs_) {
    const auto x = static_cast<double>(pair.old);
    const auto y = static_cast<double>(pair.now);
    if (x == 0 || y == 0) continue;
    const std::int64_t divisor = std::gcd(pair.old, pair.now);
    const bool plain = std::max(pair.old, pair.now) / divisor <= kPlainRatio;
    for (const double offset : {-2.0, -1.0, 0.0, 1.0, 2.0}) {
      if (x + offset == 0 || y + offset == 0) continue;
      const bool scaled = offset == 0;
      const auto follows = [&](double a, double b) {
        return scaled ? is_multiple(a, b, x, y, plain, precision)
                      : close(a, x + offset, precision) && close(b, y + offset, precision);
      };
      if (follows(old, now) || follows(old * old, now * now)) return true;
      if (old != 0 && now != 0 &&
          (follows(1 / old, 1 / now) || follows(1 / (old * old), 1 / (now * now))))
        return true;
    }
  }
  return false;
}

bool SizeChanges::may_explain_number(double old, double now, DType dtype) const {
  if (old == now) return true;
  if (old == 0 || now == 0) return false;
  const double ratio = std::abs(now / old);
  const double precision = precision_of(dtype);
  for (const Pair& pair : pairs_) {
    const auto x = static_cast<double>(pair.old);
    const auto y = static_cast<double>(pair.now);
    if (x <= 0 || y <= 0) continue;
    for (const double power : {-2.0, -1.0, -0.5, 0.5, 1.0, 2.0})
      if (close(ratio, std::pow(y / x, power), precision)) return true;
    if (x <= 1 || y <= 1) continue;
    const double logarithms = std::log(y) / std::log(x);
    const double pairs = y * (y - 1) / (x * (x - 1));  // of samples
    for (const double function : {logarithms, pairs})
      if (close(ratio, function, precision) || close(1 / ratio, function, precision)) return true;
  }
  return explain_number(old, now, dtype);
}

}  // namespace lockstep
