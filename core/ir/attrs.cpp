#include "core/ir/attrs.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/base/error.h"

namespace lockstep {
namespace {

struct AttrFacts {
  std::string_view name;
  AttrType type;
};

// In the order of the enum.
constexpr std::array<AttrFacts, kAttrCount> kFacts = {{
    {"shape", AttrType::kInts},        {"dims", AttrType::kInts},
    {"axis", AttrType::kInt},          {"to", AttrType::kDType},
    {"start", AttrType::kInts},        {"limit", AttrType::kInts},
    {"stride", AttrType::kInts},       {"low", AttrType::kInts},
    {"high", AttrType::kInts},         {"lhs_batch", AttrType::kInts},
    {"rhs_batch", AttrType::kInts},    {"lhs_contract", AttrType::kInts},
    {"rhs_contract", AttrType::kInts}, {"padding", AttrType::kInts},
    {"dilation", AttrType::kInts},     {"groups", AttrType::kInt},
    {"window", AttrType::kInts},       {"causal", AttrType::kFlag},
    {"masked", AttrType::kFlag},       {"scale", AttrType::kFloat},
    {"dropout", AttrType::kFloat},     {"stream", AttrType::kInt},
    {"ranks", AttrType::kInt},         {"root", AttrType::kInt},
    {"index", AttrType::kInt},
}};

const AttrFacts& facts(Attr attr) {
  return kFacts[static_cast<std::size_t>(attr)];
}

}  // namespace

std::string_view name_of(Attr attr) {
  return facts(attr).name;
}

AttrType type_of(Attr attr) {
  return facts(attr).type;
}

std::optional<Attr> parse_attr(std::string_view name) {
  for (std::size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].name == name) return static_cast<Attr>(i);
  return std::nullopt;
}

Attrs::Attrs(std::initializer_list<Entry> entries) {
  entries_.reserve(entries.size());
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

void Attrs::set(Attr attr, Ints values) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), attr,
                                   [](const Entry& e, Attr key) { return e.first < key; });
  if (at != entries_.end() && at->first == attr) {
    at->second = std::move(values);
  } else {
    entries_.emplace(at, attr, std::move(values));
  }
}

void Attrs::set_float(Attr attr, double value) {
  set(attr, {std::bit_cast<std::int64_t>(value)});
}

const Attrs::Ints& Attrs::ints(Attr attr) const {
  const Ints* values = find(attr);
  LS_CHECK(values != nullptr, "attribute '{}' is missing", name_of(attr));
  return *values;
}

double Attrs::real(Attr attr) const {
  return std::bit_cast<double>(integer(attr));
}

const Attrs::Ints* Attrs::find(Attr attr) const {
  for (const Entry& entry : entries_)
    if (entry.first == attr) return &entry.second;
  return nullptr;
}

}  // namespace lockstep
