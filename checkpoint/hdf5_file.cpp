#include "checkpoint/hdf5_file.h"

#include <hdf5.h>

#include <array>

#include "checkpoint/hdf5_driver.h"
#include "checkpoint/hdf5_types.h"

namespace lockstep {
namespace {

constexpr const char* kDTypeAttribute = "dtype";

Hdf5Handle property_list(hid_t list_class, const PosixFile& file) {
  return own_hdf5(H5Pcreate(list_class), H5Pclose, file, "make a property list");
}

Hdf5Handle access_properties(PosixFile& file, WrittenBytes& written) {
  Hdf5Handle access = property_list(H5P_FILE_ACCESS, file);
  check_hdf5(set_hdf5_driver(access.id(), file, written), file, "set the file driver");
  check_hdf5(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), file, "set the close degree");
  // The oldest structures, which hdf5_structure.h reads, whatever a later HDF5 would choose.
  check_hdf5(H5Pset_libver_bounds(access.id(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), file,
             "set the format's version");
  return access;
}

// Times would make two files of the same contents differ.
Hdf5Handle object_properties(hid_t list_class, const PosixFile& file) {
  Hdf5Handle properties = property_list(list_class, file);
  check_hdf5(H5Pset_obj_track_times(properties.id(), false), file, "switch times off");
  return properties;
}

Hdf5Handle scalar_space(const PosixFile& file) {
  return own_hdf5(H5Screate(H5S_SCALAR), H5Sclose, file, "make a data space");
}

Hdf5Handle space_of(const Shape& shape, const PosixFile& file) {
  if (shape.rank() == 0) return scalar_space(file);
  std::array<hsize_t, Shape::kMaxRank> sizes{};
  for (int i = 0; i < shape.rank(); ++i) {
    sizes[static_cast<std::size_t>(i)] = static_cast<hsize_t>(shape[i]);
  }
  return own_hdf5(H5Screate_simple(shape.rank(), sizes.data(), nullptr), H5Sclose, file,
                  "make a data space");
}

// Variable-length UTF-8, which h5py reads as str.
Hdf5Handle text_type(const PosixFile& file) {
  Hdf5Handle type = own_hdf5(H5Tcopy(H5T_C_S1), H5Tclose, file, "make a string type");
  check_hdf5(H5Tset_size(type.id(), H5T_VARIABLE), file, "make a string type");
  check_hdf5(H5Tset_cset(type.id(), H5T_CSET_UTF8), file, "make a string type");
  return type;
}

Hdf5Handle create_dataset(const Hdf5Handle& parent, const std::string& path, const Hdf5Handle& type,
                          const Hdf5Handle& space, const PosixFile& file) {
  const Hdf5Handle properties = object_properties(H5P_DATASET_CREATE, file);
  return own_hdf5(H5Dcreate2(parent.id(), path.c_str(), type.id(), space.id(), H5P_DEFAULT,
                             properties.id(), H5P_DEFAULT),
                  H5Dclose, file, "create", path);
}

void require_no_nul(const std::string& text, const std::string& name, const PosixFile& file) {
  if (text.find('\0') == std::string::npos) return;
  raise(file.error_kind(), "{}: cannot write {}: the text holds a NUL", file.path(), name);
}

}  // namespace

bool is_storable_name(const std::string& name) {
  return !name.empty() && name != "." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Hdf5File Hdf5File::create(PosixFile& file, std::size_t user_block) {
  const QuietHdf5 quiet;
  auto written = std::make_unique<WrittenBytes>();
  const Hdf5Handle access = access_properties(file, *written);
  const Hdf5Handle properties = object_properties(H5P_FILE_CREATE, file);
  check_hdf5(H5Pset_userblock(properties.id(), user_block), file, "set the user block");
  const hid_t id = H5Fcreate(file.path().c_str(), H5F_ACC_TRUNC, properties.id(), access.id());
  return {file, std::move(written), own_hdf5(id, H5Fclose, file, "start an HDF5 file")};
}

void Hdf5File::close() {
  const QuietHdf5 quiet;
  check_hdf5(H5Fclose(handle_.release()), *file_, "close");
}

Hdf5Handle Hdf5File::open_object(const std::string& path) const {
  return own_hdf5(H5Oopen(handle_.id(), path.c_str(), H5P_DEFAULT), H5Oclose, *file_, "open", path);
}

void Hdf5File::create_group(const std::string& path) {
  const QuietHdf5 quiet;
  const Hdf5Handle properties = object_properties(H5P_GROUP_CREATE, *file_);
  own_hdf5(H5Gcreate2(handle_.id(), path.c_str(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
           H5Gclose, *file_, "create", path);
}

void Hdf5File::write_tensor(const std::string& path, const HostTensor& tensor) {
  LS_USER_CHECK(!tensor.empty(), "{} has no memory to write to {}", path, file_->path());
  const QuietHdf5 quiet;
  const Hdf5Handle type = hdf5_type_of(tensor.dtype(), *file_);
  const Hdf5Handle space = space_of(tensor.shape(), *file_);
  const Hdf5Handle dataset = create_dataset(handle_, path, type, space, *file_);
  if (tensor.shape().elements() > 0) {
    check_hdf5(
        H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes().data()),
        *file_, "write", path);
  }
  const std::string attribute = dtype_attribute_of(tensor.dtype());
  if (!attribute.empty()) set_attribute(path, kDTypeAttribute, attribute);
  file_->check_writes();  // HDF5 does not notice failures; stop at the first
}

void Hdf5File::write_text(const std::string& path, const std::string& text) {
  const QuietHdf5 quiet;
  require_no_nul(text, path, *file_);
  const Hdf5Handle type = text_type(*file_);
  const Hdf5Handle dataset = create_dataset(handle_, path, type, scalar_space(*file_), *file_);
  const char* chars = text.c_str();
  check_hdf5(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      static_cast<const void*>(&chars)),
             *file_, "write", path);
}

void Hdf5File::set_attribute(const std::string& path, const std::string& name,
                             const Hdf5Attribute& value) {
  const QuietHdf5 quiet;
  const Hdf5Handle object = open_object(path);
  const Hdf5Handle space = scalar_space(*file_);
  const auto write = [&](hid_t type, const void* data) {
    const Hdf5Handle attribute =
        own_hdf5(H5Acreate2(object.id(), name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                 H5Aclose, *file_, "create the attribute", name);
    check_hdf5(H5Awrite(attribute.id(), type, data), *file_, "write the attribute", name);
  };
  if (const auto* text = std::get_if<std::string>(&value)) {
    require_no_nul(*text, name, *file_);
    const char* chars = text->c_str();
    write(text_type(*file_).id(), static_cast<const void*>(&chars));
  } else if (const auto* number = std::get_if<double>(&value)) {
    write(H5T_IEEE_F64LE, number);
  } else if (const auto* natural = std::get_if<std::uint64_t>(&value)) {
    write(H5T_STD_U64LE, natural);
  } else {
    write(H5T_STD_I64LE, &std::get<std::int64_t>(value));
  }
}

}  // namespace lockstep
