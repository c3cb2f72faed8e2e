#include "checkpoint/hdf5_types.h"

#include <hdf5.h>

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

}  // namespace

Hdf5Handle hdf5_type_of(DType dtype, const PosixFile& file) {
  switch (dtype) {
    case DType::kF32: return copy_of(H5T_IEEE_F32LE, file);
    case DType::kBF16: return copy_of(H5T_STD_U16LE, file);
    case DType::kF16: return half_type(file);
    case DType::kF64: return copy_of(H5T_IEEE_F64LE, file);
    case DType::kI32: return copy_of(H5T_STD_I32LE, file);
    case DType::kI64: return copy_of(H5T_STD_I64LE, file);
    case DType::kU8:
    case DType::kBool: return copy_of(H5T_STD_U8LE, file);
  }
  __builtin_unreachable();
}

std::string dtype_attribute_of(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kBool ? std::string(name_of(dtype)) : "";
}

}  // namespace lockstep
