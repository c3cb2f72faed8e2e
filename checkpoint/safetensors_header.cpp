#include "checkpoint/safetensors_header.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/error.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  raise(ErrorKind::kCheckpoint, format, std::forward<Args>(args)...);
}

std::optional<SafetensorsType> parse_type(std::string_view name) {
  for (auto type = SafetensorsType::kBool; type <= SafetensorsType::kI64;
       type = static_cast<SafetensorsType>(static_cast<int>(type) + 1))
    if (name_of(type) == name) return type;
  return std::nullopt;
}

/// Takes the parser's events one by one, so that a hostile header does not build a tree. Each place
/// of the nesting allows only certain events, so that depth is bounded.
class HeaderEvents final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader header;  // offsets are not changed
  std::size_t bad_byte = 0;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_integer(number_integer_t value) override { return unexpected(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override {
    return unexpected(text.substr(0, 40));
  }
  bool binary(binary_t&) override { return unexpected("bytes"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kShape) {
      if (dims_.size() == Shape::kMaxRank)
        refuse("tensor {} has more than {} dimensions", quote_name(entry_.name), Shape::kMaxRank);
      dims_.push_back(value);
    } else if (place_ == Place::kOffsets) {
      if (offsets_.size() == 2) refuse_offsets();
      offsets_.push_back(value);
    } else {
      return unexpected(std::to_string(value));
    }
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) {
      if (!header.metadata.emplace(key_, text).second)
        refuse("__metadata__ has {} twice", quote_name(key_));
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") return unexpected(quote_name(text));
    const std::optional<SafetensorsType> type = parse_type(text);
    if (!type)
      refuse(
          "tensor {} is of type {}; BOOL, U8, I8, I16, F16, BF16, I32, F32, F64 and I64 can be "
          "read",
          quote_name(entry_.name), quote_name(text));
    entry_.type = *type;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside && !begun_) {
      begun_ = true;
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && key_ == "__metadata__") {
      if (std::exchange(has_metadata_, true)) refuse("__metadata__ is there twice");
      place_ = Place::kMetadata;
    } else if (place_ == Place::kTop) {
      place_ = Place::kTensor;
      entry_ = {};
      entry_.name = key_;
      if (!names_.insert(key_).second) refuse("tensor {} is there twice", quote_name(key_));
      dims_.clear();
      offsets_.clear();
      fields_.clear();
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) end_tensor();
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::kTensor && key_ == "shape") {
      place_ = Place::kShape;
    } else if (place_ == Place::kTensor && key_ == "data_offsets") {
      place_ = Place::kOffsets;
    } else {
      return unexpected("a list");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool key(string_t& text) override {
    key_ = text;
    if (place_ != Place::kTensor) return true;
    if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets")
      refuse("tensor {} has a field {}, which the format does not have", quote_name(entry_.name),
             quote_name(key_));
    if (!fields_.insert(key_).second)
      refuse("tensor {} has '{}' twice", quote_name(entry_.name), key_);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    bad_byte = position;
    return false;
  }

 private:
  enum class Place : std::uint8_t { kOutside, kTop, kMetadata, kTensor, kShape, kOffsets };

  bool unexpected(const std::string& what) const {
    switch (place_) {
      case Place::kOutside: refuse("the header is {}, not an object", what);
      case Place::kTop: refuse("{} is {}, not an object", quote_name(key_), what);
      case Place::kMetadata: refuse("__metadata__ {} is {}, not a string", quote_name(key_), what);
      case Place::kTensor: refuse("'{}' of tensor {} is {}", key_, quote_name(entry_.name), what);
      case Place::kShape:
        refuse("the shape of tensor {} has {} in it", quote_name(entry_.name), what);
      case Place::kOffsets: refuse_offsets();
    }
    return false;
  }
  [[noreturn]] void refuse_offsets() const {
    refuse("data_offsets of tensor {} are not two numbers of bytes", quote_name(entry_.name));
  }

  void end_tensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"})
      if (!fields_.contains(field)) refuse("tensor {} has no '{}'", quote_name(entry_.name), field);
    if (offsets_.size() != 2 || offsets_[0] > offsets_[1]) refuse_offsets();
    std::uint64_t elements = 1;  // the product of the sizes that are not 0
    for (const std::uint64_t dim : dims_) {
      if (dim > Shape::kMaxElements ||
          __builtin_mul_overflow(elements, std::max(dim, kOne), &elements) ||
          elements > Shape::kMaxElements)
        refuse("the shape [{}] of tensor {} has more elements than can be counted",
               fmt::join(dims_, ","), quote_name(entry_.name));
    }
    for (const std::uint64_t dim : dims_) entry_.shape.push_back(static_cast<std::int64_t>(dim));
    entry_.offset = offsets_[0];
    entry_.bytes = static_cast<std::uint64_t>(entry_.shape.elements()) * size_of(entry_.type);
    if (offsets_[1] - offsets_[0] != entry_.bytes)
      refuse("tensor {} is {} and takes {} bytes, but data_offsets [{}, {}] give it {}",
             quote_name(entry_.name), entry_.type_text(), entry_.bytes, offsets_[0], offsets_[1],
             offsets_[1] - offsets_[0]);
    header.tensors.push_back(entry_);
  }

  static constexpr std::uint64_t kOne = 1;
  Place place_ = Place::kOutside;
  bool begun_ = false;
  bool has_metadata_ = false;
  std::string key_;
  std::set<std::string> names_;
  SafetensorsEntry entry_;
  std::vector<std::uint64_t> dims_;
  std::vector<std::uint64_t> offsets_;
  std::set<std::string> fields_;
};

/// The tensors, which are in order, must fill the data from its first byte to its last.
void check_coverage(const std::vector<SafetensorsEntry>& tensors, std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  const SafetensorsEntry* before = nullptr;
  for (const SafetensorsEntry& entry : tensors) {
    if (entry.offset < end)
      refuse("tensors {} and {} overlap at byte {} of the data", quote_name(before->name),
             quote_name(entry.name), entry.offset);
    if (entry.offset > end)
      refuse("bytes {} to {} of the data, before tensor {}, belong to no tensor", end, entry.offset,
             quote_name(entry.name));
    if (entry.bytes > data_bytes - end)
      refuse("tensor {} reaches to byte {} of the data, but the file has {}",
             quote_name(entry.name), entry.offset + entry.bytes, data_bytes);
    end += entry.bytes;
    before = &entry;
  }
  if (end != data_bytes)
    refuse("bytes {} to {} of the data, the end of the file, belong to no tensor", end, data_bytes);
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes) {
  if (json.empty() || json.front() != '{') refuse("the header does not begin with '{{'");
  // The parser would take it as the end.
  if (const std::size_t nul = json.find('\0'); nul != std::string_view::npos)
    refuse("the header is not JSON from byte {} on", nul + 1);
  HeaderEvents events;
  if (!Json::sax_parse(json.begin(), json.end(), &events))
    refuse("the header is not JSON from byte {} on", events.bad_byte);
  SafetensorsHeader out = std::move(events.header);
  std::ranges::sort(out.tensors, {}, [](const SafetensorsEntry& entry) {
    return std::tuple(entry.offset, entry.bytes);
  });
  check_coverage(out.tensors, data_bytes);
  return out;
}

std::string safetensors_header_text(const SafetensorsHeader& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json["__metadata__"] = header.metadata;
  for (const SafetensorsEntry& entry : header.tensors) {
    const std::array<std::uint64_t, 2> offsets = {entry.offset, entry.offset + entry.bytes};
    json[entry.name] = {{"dtype", name_of(entry.type)},
                        {"shape", nlohmann::ordered_json::array()},
                        {"data_offsets", offsets}};
    for (const std::int64_t size : entry.shape.sizes()) json[entry.name]["shape"].push_back(size);
  }
  std::string out = json.dump();
  constexpr std::size_t kAlignment = 8;
  out.resize((out.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return out;
}

}  // namespace lockstep
