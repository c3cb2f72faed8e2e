// Element types of tensors. bf16 and f16 are storage types: arithmetic on them rounds through f32.
// f64 exists for the reference oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// The element type of a tensor.
enum class DType : std::uint8_t {
  kF32,   ///< IEEE binary32
  kBF16,  ///< the upper 16 bits of an f32
  kF16,   ///< IEEE binary16
  kF64,   ///< IEEE binary64
  kI32,   ///< signed, 32 bits
  kI64,   ///< signed, 64 bits
  kU8,    ///< unsigned, 8 bits
  kBool,  ///< a byte, 0 or 1
};

/// Bytes of one element.
std::size_t size_of(DType dtype);

/// "f32", "bf16", "f16", "f64", "i32", "i64", "u8", "bool".
std::string_view name_of(DType dtype);

/// The inverse of name_of; nothing for an unknown name.
std::optional<DType> parse_dtype(std::string_view name);

bool is_float(DType dtype);    ///< f32, bf16, f16, f64
bool is_integer(DType dtype);  ///< i32, i64, u8

/// bf16 <-> f32: round to nearest even; NaN stays NaN.
std::uint16_t bf16_from_float(float value);
float float_from_bf16(std::uint16_t bits);  ///< the exact f32 value of a bf16

/// f16 (IEEE binary16) <-> f32: round to nearest even, overflow to infinity.
std::uint16_t f16_from_float(float value);
float float_from_f16(std::uint16_t bits);  ///< the exact f32 value of an f16

/// Storage structs, so that templates can tell a bf16 from a u16.
struct BF16 {
  std::uint16_t bits;  ///< the upper half of the f32
};
/// The storage of an f16.
struct F16 {
  std::uint16_t bits;  ///< IEEE binary16
};

/// Calls `f` with a value-initialized element of dtype's storage type: visit_dtype(t, [](auto
/// x){}). bool is stored as std::uint8_t 0 or 1 and is passed as `bool`.
template <class F>
auto visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32: return f(float{});
    case DType::kBF16: return f(BF16{});
    case DType::kF16: return f(F16{});
    case DType::kF64: return f(double{});
    case DType::kI32: return f(std::int32_t{});
    case DType::kI64: return f(std::int64_t{});
    case DType::kU8: return f(std::uint8_t{});
    case DType::kBool: return f(bool{});
  }
  __builtin_unreachable();
}

/// `DTypeOf<T>::value` is the DType whose elements are stored as T: float, BF16, F16, double,
/// std::int32_t, std::int64_t, std::uint8_t or bool.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<BF16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct DTypeOf<F16> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

}  // namespace lockstep
