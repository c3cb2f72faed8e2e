#include "core/ir/attrs.h"

#include <array>
#include <bit>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

struct AttrFacts {
  std::string_view name;
  AttrType type;
};

// In the order of the enum.
constexpr std::array<AttrFacts, kAttrCount> kFacts = {{
    {"shape", AttrType::kInts},         {"dims", AttrType::kInts},
    {"axis", AttrType::kInt},           {"to", AttrType::kDType},
    {"start", AttrType::kInts},         {"limit", AttrType::kInts},
    {"stride", AttrType::kInts},        {"low", AttrType::kInts},
    {"high", AttrType::kInts},          {"lhs_batch", AttrType::kInts},
    {"rhs_batch", AttrType::kInts},     {"lhs_contract", AttrType::kInts},
    {"rhs_contract", AttrType::kInts},  {"padding", AttrType::kInts},
    {"dilation", AttrType::kInts},      {"groups", AttrType::kInt},
    {"window", AttrType::kInts},        {"causal", AttrType::kFlag},
    {"masked", AttrType::kFlag},        {"scale", AttrType::kFloat},
    {"dropout", AttrType::kFloat},      {"stream", AttrType::kInt},
    {"ranks", AttrType::kInt},          {"root", AttrType::kInt},
    {"index", AttrType::kInt},          {"function", AttrType::kText},
    {"version", AttrType::kInt},        {"results", AttrType::kTypes},
    {"channels_last", AttrType::kFlag},
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

Attrs::Attrs(const Attrs&) = default;
Attrs& Attrs::operator=(const Attrs&) = default;

// Most nodes have no attributes, and a step moves those of thousands.
Attrs::Attrs(Attrs&& other) noexcept {
  if (!other.words_.empty()) words_ = std::move(other.words_);
}
Attrs& Attrs::operator=(Attrs&& other) noexcept {
  if (!words_.empty() || !other.words_.empty()) words_ = std::move(other.words_);
  return *this;
}

Attrs::Attrs(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.attr, entry.values);
}

void Attrs::set(Attr attr, IntView values) {
  auto at = words_.begin();
  while (at != words_.end() && attr_of(*at) < attr) at += 1 + count_of(*at);
  if (at == words_.end()) {  // nearly always: the keys come in order
    words_.push_back(head(attr, values.size()));
    for (const std::int64_t value : values) words_.push_back(value);
    return;
  }
  if (attr_of(*at) == attr) at = words_.erase(at, at + 1 + count_of(*at));
  at = words_.insert(at, head(attr, values.size()));
  words_.insert(at + 1, values.begin(), values.end());
}

void Attrs::set_float(Attr attr, double value) {
  set(attr, {std::bit_cast<std::int64_t>(value)});
}

void Attrs::set_text(Attr attr, std::string_view text) {
  Ints bytes;
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  set(attr, bytes);
}

IntView Attrs::ints(Attr attr) const {
  const auto at = find(attr);
  LS_CHECK(at != words_.end(), "attribute '{}' is missing", name_of(attr));
  return IntView(&*at + 1, count_of(*at));
}

double Attrs::real(Attr attr) const {
  return std::bit_cast<double>(integer(attr));
}

std::string Attrs::text(Attr attr) const {
  std::string out;
  for (const std::int64_t byte : ints(attr)) out += static_cast<char>(byte);
  return out;
}

Attrs::Words::const_iterator Attrs::find(Attr attr) const {
  auto at = words_.begin();
  while (at != words_.end() && attr_of(*at) != attr) at += 1 + count_of(*at);
  return at;
}

}  // namespace lockstep
