#include "checkpoint/hdf5_driver.h"

#include <hdf5.h>

#include <algorithm>
#include <limits>
#include <new>

namespace lockstep {
namespace {

// The contents of the property list. HDF5 copies it byte for byte.
struct DriverInfo {
  PosixFile* file;
  WrittenBytes* written;
};

// Data sets of at least this size are compared with their own memory (HDF5 writes smaller ones
// through a buffer of this size).
constexpr std::size_t kLargeData = std::size_t{64} << 10;

// HDF5 accesses an open file by the public part at its start.
struct OpenFile {
  H5FD_t base;
  PosixFile* file;
  WrittenBytes* written;
  haddr_t allocated;  // HDF5's "end of the allocated addresses"
  haddr_t end;        // the end of the file
};

OpenFile* self(H5FD_t* file) {
  return reinterpret_cast<OpenFile*>(file);
}
const OpenFile* self(const H5FD_t* file) {
  return reinterpret_cast<const OpenFile*>(file);
}

// HDF5 is C: no exception may leave a callback.
H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
  const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access));
  auto* opened = new (std::nothrow) OpenFile{};
  if (info == nullptr || opened == nullptr) {
    delete opened;
    return nullptr;
  }
  opened->file = info->file;
  opened->written = info->written;
  try {
    opened->end = opened->file->size();
  } catch (const Error&) {
    delete opened;
    return nullptr;
  }
  return &opened->base;
}

herr_t close_file(H5FD_t* file) {
  delete self(file);
  return 0;
}

herr_t query_features(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
  }
  return 0;
}

haddr_t get_allocated(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->allocated;
}

herr_t set_allocated(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  self(file)->allocated = address;
  return 0;
}

haddr_t get_end(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->end;
}

herr_t read_bytes(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* out) {
  try {
    self(file)->written->copy(address, {static_cast<std::byte*>(out), size});
    return 0;
  } catch (const Error&) {
    return -1;
  }
}

herr_t write_bytes(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, std::size_t size,
                   const void* bytes) {
  const std::span span(static_cast<const std::byte*>(bytes), size);
  try {
    const bool is_large_data = kind == H5FD_MEM_DRAW && size >= kLargeData;
    if (!is_large_data) self(file)->written->record(address, span);
  } catch (const std::bad_alloc&) {
    return -1;
  }
  self(file)->file->write(address, span);
  self(file)->end = std::max<haddr_t>(self(file)->end, address + size);
  return 0;
}

herr_t truncate_file(H5FD_t* file, hid_t, hbool_t) {
  OpenFile* opened = self(file);
  if (opened->allocated == opened->end) return 0;
  opened->file->resize(opened->allocated);
  opened->end = opened->allocated;
  return 0;
}

H5FD_class_t make_driver() {
  H5FD_class_t driver{};
  driver.name = "lockstep";
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<std::int64_t>::max());
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(DriverInfo);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query_features;
  driver.get_eoa = get_allocated;
  driver.set_eoa = set_allocated;
  driver.get_eof = get_end;
  driver.read = read_bytes;
  driver.write = write_bytes;
  driver.truncate = truncate_file;
  const H5FD_mem_t kinds[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kinds), std::end(kinds), driver.fl_map);
  return driver;
}

}  // namespace

int set_hdf5_driver(std::int64_t access, PosixFile& file, WrittenBytes& written) {
  const H5FD_class_t driver = make_driver();
  const hid_t id = H5FDregister(&driver);
  if (id < 0) return -1;
  const DriverInfo info{&file, &written};
  const herr_t status = H5Pset_driver(access, id, &info);
  const herr_t released = H5FDunregister(id);  // the property list keeps it alive
  return std::min(status, released);
}

}  // namespace lockstep
