#include "checkpoint/hdf5_types.h"

#include <hdf5.h>

#include <optional>
#include <string_view>

namespace lockstep {
namespace {

// IEEE binary16, as NumPy and h5py define it: 1 sign bit, 5 exponent bits, 10 mantissa bits.
constexpr std::size_t kHalfExponentBias = 15;
constexpr std::size_t kHalfExponentBits = 5;
constexpr std::size_t kHalfMantissaBits = 10;

Hdf5Handle copy_of(hid_t predefined, const PosixFile& file) {
  return own_hdf5(H5Tcopy(predefined), H5Tclose, file, "make a data type");
}

Hdf5Handle half_type(const PosixFile& file) {
  Hdf5Handle type = copy_of(H5T_IEEE_F32LE, file);
  const auto check = [&](herr_t status) { check_hdf5(status, file, "make the half type"); };
  check(H5Tset_fields(type.id(), 15, kHalfMantissaBits, kHalfExponentBits, 0, kHalfMantissaBits));
  check(H5Tset_size(type.id(), sizeof(F16)));
  check(H5Tset_ebias(type.id(), kHalfExponentBias));
  return type;
}

// The type in words: "u16", "i8", "f128", "a string".
std::string describe(hid_t type) {
  const std::size_t bits = H5Tget_size(type) * 8;
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{}{}", H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', bits);
    case H5T_FLOAT: return fmt::format("f{}", bits);
    case H5T_STRING: return "a string";
    case H5T_COMPOUND: return "a compound";
    case H5T_ENUM: return "an enumeration";
    case H5T_ARRAY: return "an array";
    case H5T_VLEN: return "a variable-length sequence";
    case H5T_REFERENCE: return "a reference";
    case H5T_TIME: return "a time";
    case H5T_BITFIELD: return "a bit field";
    case H5T_OPAQUE: return "opaque";
    case H5T_NO_CLASS: break;
    case H5T_NCLASSES: break;
  }
  return "unknown";
}

// h5py stores NumPy's bool as an 8-bit enumeration {FALSE, TRUE}.
bool is_h5py_bool(hid_t type) {
  return H5Tget_class(type) == H5T_ENUM && H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 &&
         H5Tget_member_index(type, "FALSE") >= 0 && H5Tget_member_index(type, "TRUE") >= 0;
}

std::optional<DType> integer_dtype(hid_t type) {
  const bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
  switch (H5Tget_size(type)) {
    case 1: return is_signed ? std::nullopt : std::optional(DType::kU8);
    case 4: return is_signed ? std::optional(DType::kI32) : std::nullopt;
    case 8: return is_signed ? std::optional(DType::kI64) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<DType> float_dtype(hid_t type) {
  switch (H5Tget_size(type)) {
    case 2:
      return H5Tget_ebias(type) == kHalfExponentBias ? std::optional(DType::kF16) : std::nullopt;
    case 4: return DType::kF32;
    case 8: return DType::kF64;
    default: return std::nullopt;
  }
}

}  // namespace

Hdf5Handle hdf5_type_of(DType dtype, const PosixFile& file) {
  switch (dtype) {
    case DType::kF32: return copy_of(H5T_IEEE_F32LE, file);
    case DType::kBF16: return copy_of(H5T_STD_U16LE, file);
    case DType::kF16: return half_type(file);
    case DType::kF64: return copy_of(H5T_IEEE_F64LE, file);
    case DType::kI32: return copy_of(H5T_STD_I32LE, file);
    case DType::kI64: return copy_of(H5T_STD_I64LE, file);
    case DType::kU8: return copy_of(H5T_STD_U8LE, file);
    case DType::kBool: return copy_of(H5T_STD_U8LE, file);
  }
  __builtin_unreachable();
}

std::string dtype_attribute_of(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kBool ? std::string(name_of(dtype)) : "";
}

DType dtype_of_hdf5(std::int64_t type, const std::string& attribute, const PosixFile& file,
                    const std::string& object) {
  const std::string stored = describe(type);
  if (is_h5py_bool(type)) return DType::kBool;
  if (attribute == "bf16" || attribute == "bool") {
    const std::string_view needed = attribute == "bf16" ? "u16" : "u8";
    if (stored == needed) return *parse_dtype(attribute);
    raise(file.error_kind(), "{}: {} has the attribute dtype = \"{}\" but is {}; it must be {}",
          file.path(), object, attribute, stored, needed);
  }
  std::optional<DType> dtype;
  if (H5Tget_class(type) == H5T_INTEGER) dtype = integer_dtype(type);
  if (H5Tget_class(type) == H5T_FLOAT) dtype = float_dtype(type);
  if (dtype.has_value()) return *dtype;
  raise(file.error_kind(),
        "{}: {} is {}; tensors are f32, f64, f16, i32, i64, u8, bf16 (u16 with the attribute "
        "dtype = \"bf16\") or bool (u8 with the attribute dtype = \"bool\")",
        file.path(), object, stored);
}

}  // namespace lockstep
