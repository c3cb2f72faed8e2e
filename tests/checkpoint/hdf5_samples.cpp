#include "tests/checkpoint/hdf5_samples.h"

#include <hdf5.h>

#include <cstring>
#include <functional>

#include "core/base/error.h"

namespace lockstep::samples {
namespace {

/// An id that is closed again. A failure is one of the test.
class Id {
 public:
  Id(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {
    LS_CHECK(id >= 0, "HDF5 failed");
  }
  Id(Id&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  ~Id() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void check(herr_t status) {
  LS_CHECK(status >= 0, "HDF5 failed");
}

Id create(const std::string& path, const SampleFile& file) {
  const Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const bool latest = file.version == Hdf5Version::kLatest;
  check(H5Pset_libver_bounds(access, latest ? H5F_LIBVER_LATEST : H5F_LIBVER_EARLIEST,
                             H5F_LIBVER_LATEST));
  const Id creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  check(H5Pset_userblock(creation, file.user_block));
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access), H5Fclose};
}

Id reopen(const std::string& path) {
  return {H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose};
}

hid_t stored_type(SampleDataset::Type type) {
  switch (type) {
    case SampleDataset::Type::kU8: return H5T_STD_U8LE;
    case SampleDataset::Type::kF32: return H5T_IEEE_F32LE;
    case SampleDataset::Type::kF32BigEndian: return H5T_IEEE_F32BE;
    case SampleDataset::Type::kI64: return H5T_STD_I64LE;
  }
  __builtin_unreachable();
}

Id space_of(const SampleDataset& dataset) {
  std::vector<hsize_t> sizes(dataset.sizes.begin(), dataset.sizes.end());
  std::vector<hsize_t> max_sizes = sizes;
  for (std::size_t i = 0; i < dataset.max_sizes.size(); ++i)
    max_sizes[i] = dataset.max_sizes[i] == 0 ? H5S_UNLIMITED : dataset.max_sizes[i];
  if (sizes.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  return {H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), max_sizes.data()),
          H5Sclose};
}

Id properties_of(const SampleDataset& dataset) {
  Id out(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(H5Pset_obj_track_times(out, false));
  if (dataset.is_compact) check(H5Pset_layout(out, H5D_COMPACT));
  if (dataset.early) check(H5Pset_alloc_time(out, H5D_ALLOC_TIME_EARLY));
  if (dataset.chunk.empty()) return out;
  const std::vector<hsize_t> chunk(dataset.chunk.begin(), dataset.chunk.end());
  check(H5Pset_chunk(out, static_cast<int>(chunk.size()), chunk.data()));
  if (dataset.shuffle) check(H5Pset_shuffle(out));
  if (dataset.gzip) check(H5Pset_deflate(out, 6));
  if (dataset.fletcher32) check(H5Pset_fletcher32(out));
  return out;
}

void write_elements(const Id& id, const SampleDataset& dataset) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : dataset.sizes) count *= size;
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(dataset.type == SampleDataset::Type::kU8 ? i % 256 : i);
  const Id space(H5Dget_space(id), H5Sclose);
  if (!dataset.sizes.empty() && dataset.written_rows < dataset.sizes[0]) {
    if (dataset.written_rows == 0) return;
    const std::vector<hsize_t> first(dataset.sizes.size());
    std::vector<hsize_t> rows(dataset.sizes.begin(), dataset.sizes.end());
    rows[0] = dataset.written_rows;
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, rows.data(), nullptr));
  }
  check(H5Dwrite(id, H5T_NATIVE_DOUBLE, dataset.sizes.empty() ? H5S_ALL : hid_t{space}, space,
                 H5P_DEFAULT, values.data()));
}

void add_dataset(const Id& file, const SampleDataset& dataset) {
  const Id links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  check(H5Pset_create_intermediate_group(links, 1));
  const Id id(H5Dcreate2(file, dataset.path.c_str(), stored_type(dataset.type), space_of(dataset),
                         links, properties_of(dataset), H5P_DEFAULT),
              H5Dclose);
  write_elements(id, dataset);
}

/// Of variable length, as h5py writes str.
void add_attribute(const Id& file, const std::string& object, const std::string& name,
                   const std::string& text) {
  const Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  check(H5Tset_size(type, H5T_VARIABLE));
  const Id space(H5Screate(H5S_SCALAR), H5Sclose);
  const Id attribute(H5Acreate_by_name(file, object.c_str(), name.c_str(), type, space, H5P_DEFAULT,
                                       H5P_DEFAULT, H5P_DEFAULT),
                     H5Aclose);
  const char* chars = text.c_str();
  check(H5Awrite(attribute, type, static_cast<const void*>(&chars)));
}

}  // namespace

void write_sample(const std::string& path, const SampleFile& file) {
  const Id id = create(path, file);
  for (const SampleDataset& dataset : file.datasets) add_dataset(id, dataset);
  for (const auto& [name, text] : file.attributes)
    add_attribute(id, file.datasets.at(0).path, name, text);
}

void add_soft_link(const std::string& path, const std::string& name, const std::string& target) {
  check(H5Lcreate_soft(target.c_str(), reopen(path), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
}

void add_external_link(const std::string& path, const std::string& name, const std::string& file,
                       const std::string& target) {
  check(H5Lcreate_external(file.c_str(), target.c_str(), reopen(path), name.c_str(), H5P_DEFAULT,
                           H5P_DEFAULT));
}

void add_hard_link(const std::string& path, const std::string& name, const std::string& target) {
  const Id file = reopen(path);
  check(H5Lcreate_hard(file, target.c_str(), file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
}

void add_virtual(const std::string& path, const std::string& name, std::uint64_t n,
                 const std::string& file, const std::string& source) {
  const hsize_t size = n;
  const Id space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  const Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(H5Pset_virtual(properties, space, file.c_str(), source.c_str(), space));
  const Id target = reopen(path);
  const Id dataset(
      H5Dcreate2(target, name.c_str(), H5T_STD_U8LE, space, H5P_DEFAULT, properties, H5P_DEFAULT),
      H5Dclose);
}

void add_external_storage(const std::string& path, const std::string& name, std::uint64_t n,
                          const std::string& file) {
  const hsize_t size = n;
  const Id space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  const Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(H5Pset_external(properties, file.c_str(), 0, n));
  const Id target = reopen(path);
  const Id dataset(
      H5Dcreate2(target, name.c_str(), H5T_STD_U8LE, space, H5P_DEFAULT, properties, H5P_DEFAULT),
      H5Dclose);
}

std::vector<SampleFile> small_samples() {
  using Type = SampleDataset::Type;
  // Each kind of index that the latest version has, filtered and not; the earliest has one.
  const std::vector<SampleDataset> kinds = {
      {.path = "/contiguous", .sizes = {2, 3}},
      {.path = "/compact", .sizes = {5}, .is_compact = true},
      {.path = "/scalar", .type = Type::kI64, .sizes = {}},
      {.path = "/big_endian", .type = Type::kF32BigEndian, .sizes = {3}},
      {.path = "/one_chunk", .sizes = {4, 3}, .chunk = {4, 3}},
      {.path = "/one_gzip",
       .type = Type::kF32,
       .sizes = {4, 3},
       .chunk = {4, 3},
       .shuffle = true,
       .gzip = true},
      {.path = "/implicit", .sizes = {5, 3}, .chunk = {2, 2}, .early = true},
      {.path = "/fixed", .sizes = {5, 3}, .chunk = {2, 2}},
      {.path = "/fixed_gzip",
       .sizes = {5, 3},
       .chunk = {2, 2},
       .max_sizes = {9, 4},
       .gzip = true,
       .fletcher32 = true},
      {.path = "/growing", .sizes = {3, 40}, .chunk = {2, 1}, .max_sizes = {3, 0}},
      {.path = "/growing_gzip",
       .sizes = {30, 3},
       .chunk = {1, 2},
       .max_sizes = {0, 3},
       .gzip = true},
      {.path = "/growing_twice", .sizes = {7, 6}, .chunk = {1, 2}, .max_sizes = {0, 0}},
      {.path = "/growing_twice_gzip",
       .sizes = {3, 6},
       .chunk = {1, 2},
       .max_sizes = {0, 0},
       .gzip = true}};
  std::vector<SampleFile> out;
  for (const Hdf5Version version : {Hdf5Version::kEarliest, Hdf5Version::kLatest}) {
    for (const SampleDataset& dataset : kinds)
      out.push_back({.version = version, .datasets = {dataset}});
    SampleFile many{.version = version, .user_block = 512};
    for (int i = 0; i < 12; ++i)
      many.datasets.push_back({.path = "/d" + std::to_string(i), .sizes = {2}});
    for (int i = 0; i < 10; ++i) many.attributes.emplace_back("a" + std::to_string(i), "text");
    many.attributes.emplace_back("dtype", "bool");
    out.push_back(many);
  }
  return out;
}

}  // namespace lockstep::samples
