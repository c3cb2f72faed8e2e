#include "checkpoint/hdf5_reader.h"

#include <algorithm>
#include <new>
#include <utility>

#include "checkpoint/hdf5_reader/dtype_attribute.h"
#include "checkpoint/hdf5_reader/global_heap.h"
#include "checkpoint/hdf5_reader/group.h"
#include "checkpoint/hdf5_reader/object_header.h"
#include "checkpoint/hdf5_reader/read_elements.h"
#include "checkpoint/hdf5_reader/stored_dataset.h"
#include "core/base/metrics.h"

namespace lockstep {
namespace {

constexpr double kGigabyte = 0x1p30;
constexpr double kMaxBytes = 0x1p62;

DType dtype_of(const StoredElement& element, const std::string& attribute,
               const FileRegions& regions, const std::string& object) {
  if (element.dtype == DType::kBool) return DType::kBool;
  if (attribute == "bf16" || attribute == "bool") {
    const std::string needed = attribute == "bf16" ? "u16" : "u8";
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): both are names of dtypes
    if (element.name == needed) return *parse_dtype(attribute);
    refuse(regions, object,
           fmt::format("has the attribute dtype = \"{}\" but is {}; it must be {}", attribute,
                       element.name, needed));
  }
  if (element.dtype) return *element.dtype;
  refuse(regions, object,
         fmt::format("is {}; tensors are f32, f64, f16, i32, i64, u8, bf16 (u16 with the attribute "
                     "dtype = \"bf16\") or bool (u8 with the attribute dtype = \"bool\")",
                     element.name));
}

void swap_bytes(std::span<std::byte> bytes, std::size_t element) {
  for (std::size_t at = 0; at + element <= bytes.size(); at += element)
    std::ranges::reverse(bytes.subspan(at, element));
}

}  // namespace

class Hdf5Reader::Contents {
 public:
  Contents(const PosixFile& file, Hdf5Limit limit)
      : regions_(file, find_superblock(file), "damaged HDF5"),
        texts_(regions_),
        root_(read_superblock(regions_)),
        limit_(std::move(limit)),
        left_(static_cast<std::uint64_t>(std::min(limit_.gigabytes * kGigabyte, kMaxBytes))) {}

  std::vector<std::string> data_sets() {
    std::vector<std::string> out;
    for (const auto& [name, link] : links_of(root_, "/")) {
      const std::string path = "/" + name;
      if (is_group(messages_at(address_of(link, path), path)))
        refuse(regions_, path, "is not a data set; tensors stand at the top level of the file");
      out.push_back(name);
    }
    return out;
  }

  TensorInfo info(const std::string& path) {
    const std::uint64_t address = find(path);
    const StoredDataset& dataset = dataset_at(address, path);
    const auto found = dtypes_.find(address);
    const DType dtype =
        found != dtypes_.end()
            ? found->second
            : dtype_of(dataset.element,
                       dtype_attribute(regions_, texts_, messages_at(address, path), path),
                       regions_, path);
    dtypes_.emplace(address, dtype);
    return {dtype, dataset.shape};
  }

  HostTensor read(const std::string& path) {
    const TensorInfo facts = info(path);
    const std::uint64_t address = find(path);
    const StoredDataset& dataset = dataset_at(address, path);
    // An object may have several names, and may be read twice.
    if (const auto found = tensors_.find(address); found != tensors_.end()) return found->second;
    LS_CHECK(size_of(facts.dtype) == dataset.element.bytes, "{} of {} bytes", name_of(facts.dtype),
             dataset.element.bytes);
    check_limit(facts, path);
    ElementReader elements(regions_, dataset, path);
    HostTensor out = allocate(facts, path);
    elements.read(out.bytes());
    if (dataset.element.is_big_endian) swap_bytes(out.bytes(), dataset.element.bytes);
    return tensors_.emplace(address, std::move(out)).first->second;
  }

 private:
  /// A small file can declare a huge data set.
  void check_limit(const TensorInfo& info, const std::string& path) {
    const auto elements = static_cast<std::uint64_t>(info.shape.elements());
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(elements, size_of(info.dtype), &bytes) || bytes > left_)
      refuse(regions_, path,
             fmt::format("is {}{}, {}; at most {} of a file are read, which {} changes",
                         name_of(info.dtype), info.shape.to_string(),
                         format_bytes(static_cast<double>(elements) *
                                      static_cast<double>(size_of(info.dtype))),
                         format_bytes(limit_.gigabytes * kGigabyte), limit_.changed_by));
    left_ -= bytes;
  }

  HostTensor allocate(const TensorInfo& info, const std::string& path) const {
    try {
      return {info.dtype, info.shape};
    } catch (const std::bad_alloc&) {
      raise(regions_.file().error_kind(), "{}: no memory for {}, {}{}", regions_.file().path(),
            path, name_of(info.dtype), info.shape.to_string());
    }
  }

  std::uint64_t address_of(const GroupLink& link, const std::string& path) const {
    constexpr std::string_view kCopy = "copy its target, with h5py: new['NAME'] = old['NAME'][()]";
    switch (link.kind) {
      case GroupLink::Kind::kObject: return link.address;
      case GroupLink::Kind::kSoft:
        refuse(regions_, path,
               fmt::format("is a soft link to '{}' and not a data set; name that instead, or {}",
                           link.target, kCopy));
      case GroupLink::Kind::kExternal:
        refuse(regions_, path,
               fmt::format("is an external link, to another file ({}), which is not followed; {}",
                           link.target, kCopy));
      case GroupLink::Kind::kOther: break;
    }
    refuse(regions_, path, "is a link of an unknown kind");
  }

  std::uint64_t find(const std::string& path) {
    std::uint64_t at = root_;
    std::string place;
    for (std::size_t begin = 0; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string name = path.substr(begin, end - begin);
      begin = end + 1;
      if (name.empty() || name == ".") continue;
      const std::map<std::string, GroupLink>& links = links_of(at, place.empty() ? "/" : place);
      place += "/" + name;
      const auto found = links.find(name);
      if (found == links.end())
        raise(regions_.file().error_kind(), "{}: cannot open {}: object '{}' doesn't exist",
              regions_.file().path(), path, name);
      at = address_of(found->second, place);
    }
    return at;
  }

  const std::vector<HeaderMessage>& messages_at(std::uint64_t address, const std::string& path) {
    const auto found = headers_.find(address);
    if (found != headers_.end()) return found->second;
    return headers_.emplace(address, read_object_header(regions_, address, path)).first->second;
  }

  const std::map<std::string, GroupLink>& links_of(std::uint64_t address, const std::string& path) {
    const auto found = groups_.find(address);
    if (found != groups_.end()) return found->second;
    const std::vector<HeaderMessage>& messages = messages_at(address, path);
    if (!is_group(messages)) refuse(regions_, path, "is not a group");
    return groups_.emplace(address, read_links(regions_, messages, path)).first->second;
  }

  const StoredDataset& dataset_at(std::uint64_t address, const std::string& path) {
    const auto found = datasets_.find(address);
    if (found != datasets_.end()) return found->second;
    const std::vector<HeaderMessage>& messages = messages_at(address, path);
    return datasets_.emplace(address, decode_dataset(regions_, messages, path)).first->second;
  }

  FileRegions regions_;
  GlobalHeap texts_;
  std::uint64_t root_;
  Hdf5Limit limit_;
  std::uint64_t left_;  // of the limit
  // By address: reading claims bytes, which is possible only once.
  std::map<std::uint64_t, std::vector<HeaderMessage>> headers_;
  std::map<std::uint64_t, std::map<std::string, GroupLink>> groups_;
  std::map<std::uint64_t, StoredDataset> datasets_;
  std::map<std::uint64_t, DType> dtypes_;
  std::map<std::uint64_t, HostTensor> tensors_;
};

Hdf5Reader::Hdf5Reader(const PosixFile& file, Hdf5Limit limit)
    : contents_(std::make_unique<Contents>(file, std::move(limit))) {}

Hdf5Reader::~Hdf5Reader() = default;

std::vector<std::string> Hdf5Reader::data_sets() {
  return contents_->data_sets();
}

TensorInfo Hdf5Reader::info(const std::string& path) {
  return contents_->info(path);
}

HostTensor Hdf5Reader::read(const std::string& path) {
  return contents_->read(path);
}

}  // namespace lockstep
