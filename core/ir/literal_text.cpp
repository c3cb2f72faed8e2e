#include "core/ir/literal_text.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lockstep {
namespace {

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using Type = std::uint64_t;
};
template <>
struct BitsOf<BF16> {
  using Type = std::uint16_t;
};
template <>
struct BitsOf<F16> {
  using Type = std::uint16_t;
};

template <class T>
constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, BF16> || std::is_same_v<T, F16>;

// The value in the type that decimals are read in.
inline double wide(double x) {
  return x;
}
inline float wide(float x) {
  return x;
}
inline float wide(BF16 x) {
  return float_from_bf16(x.bits);
}
inline float wide(F16 x) {
  return float_from_f16(x.bits);
}

template <class T, class Wide>
T narrow(Wide x) {
  if constexpr (std::is_same_v<T, BF16>) {
    return BF16{bf16_from_float(x)};
  } else if constexpr (std::is_same_v<T, F16>) {
    return F16{f16_from_float(x)};
  } else {
    return x;
  }
}

template <class T>
bool parse_whole(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

template <class T>
std::string print_float(T value) {
  using Bits = typename BitsOf<T>::Type;
  const auto x = wide(value);
  if (std::isnan(x)) {
    const auto canonical = narrow<T>(std::numeric_limits<decltype(wide(value))>::quiet_NaN());
    const auto bits = std::bit_cast<Bits>(value);
    return bits == std::bit_cast<Bits>(canonical) ? "nan" : fmt::format("nan({:#x})", bits);
  }
  if constexpr (sizeof(T) == 2) {
    // A 16-bit value needs fewer digits than its f32 image.
    for (int digits = 1; digits < 9 && !std::isinf(x); ++digits) {
      const std::string text = fmt::format("{:.{}g}", x, digits);
      float back = 0;
      if (parse_whole(text, back) &&
          std::bit_cast<Bits>(narrow<T>(back)) == std::bit_cast<Bits>(value))
        return text;
    }
  }
  return fmt::format("{}", x);
}

template <class T>
bool parse_float(std::string_view text, T& out) {
  using Bits = typename BitsOf<T>::Type;
  using Wide = decltype(wide(out));
  if (text.starts_with("nan(0x") && text.ends_with(")")) {
    text = text.substr(6, text.size() - 7);
    Bits bits{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    out = std::bit_cast<T>(bits);
    return std::isnan(wide(out));
  }
  if (text == "nan") {
    out = narrow<T>(std::numeric_limits<Wide>::quiet_NaN());
    return true;
  }
  Wide value{};
  if (!parse_whole(text, value) || std::isnan(value)) return false;
  out = narrow<T>(value);
  return true;
}

}  // namespace

std::string print_element(const HostTensor& tensor, std::size_t i) {
  return visit_dtype(tensor.dtype(), [&](auto zero) -> std::string {
    using T = decltype(zero);
    const T value = tensor.as<const T>()[i];
    if constexpr (kIsFloat<T>) {
      return print_float(value);
    } else {
      return fmt::format("{}", value);
    }
  });
}

std::string print_double(double value) {
  return print_float(value);
}

std::optional<double> parse_double(std::string_view text) {
  double out = 0;
  if (!parse_float(text, out)) return std::nullopt;
  return out;
}

bool parse_element(std::string_view text, const HostTensor& tensor, std::size_t i) {
  return visit_dtype(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T& out = tensor.as<T>()[i];
    if constexpr (std::is_same_v<T, bool>) {
      out = text == "true";
      return text == "true" || text == "false";
    } else if constexpr (kIsFloat<T>) {
      return parse_float(text, out);
    } else {
      return parse_whole(text, out);
    }
  });
}

}  // namespace lockstep
