// The contents of a file written by Hdf5File, read without the HDF5 library.
//
// HDF5 1.10 ends the process with a signal on hostile bytes, and follows references to other files.
// A checkpoint's digest proves that its bytes are those that were sealed, not who sealed them. So
// checkpoints are read by this code: it accepts only the exact structure that lockstep writes
// (HDF5's oldest version of everything: symbol tables, version 1 object headers, contiguous data
// sets, texts in global heaps), checks every address and length, and refuses anything else: other
// types and layouts, filters, external files, soft and external links, cycles, overlaps.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "checkpoint/hdf5_file.h"
#include "core/base/posix_file.h"

namespace lockstep {

struct Hdf5Object {
  enum class Kind : std::uint8_t { kGroup, kTensor, kText } kind = Kind::kGroup;
  std::map<std::string, Hdf5Attribute> attributes;
  // For tensors: bf16 and bool are resolved, their attribute dtype is not among `attributes`.
  DType dtype = DType::kF32;
  Shape shape;
  std::uint64_t offset = 0;  ///< of the elements, from the beginning of the file
  std::uint64_t bytes = 0;
  std::string text;  ///< of texts
};

/// All objects by path: "/" is the root, "/model/wte.weight" a tensor. The HDF5 file begins at
/// `base`, after the user block. Error of the file's kind "PATH: not as lockstep writes it: OBJECT:
/// problem". Memory stays below the file's size plus a small multiple of the names.
std::map<std::string, Hdf5Object> read_structure(const PosixFile& file, std::uint64_t base);

}  // namespace lockstep
