#include "core/base/dtype.h"

#include <array>
#include <bit>

#include "core/base/error.h"

namespace lockstep {
namespace {

struct DTypeFacts {
  std::string_view name;
  std::size_t bytes;
};

// In the order of the enum.
constexpr std::array<DTypeFacts, 8> kFacts = {{{"f32", 4},
                                               {"bf16", 2},
                                               {"f16", 2},
                                               {"f64", 8},
                                               {"i32", 4},
                                               {"i64", 8},
                                               {"u8", 1},
                                               {"bool", 1}}};

}  // namespace

std::size_t size_of(DType dtype) {
  return kFacts[static_cast<std::size_t>(dtype)].bytes;
}

std::string_view name_of(DType dtype) {
  return kFacts[static_cast<std::size_t>(dtype)].name;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16 ||
         dtype == DType::kF64;
}

bool is_integer(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU8;
}

std::uint16_t bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  const std::uint32_t round = 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>((bits + round) >> 16);
}

float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t f16_from_float(float value) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

float float_from_f16(std::uint16_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

}  // namespace lockstep
