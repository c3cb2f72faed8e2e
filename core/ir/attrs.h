// Attributes of a node: a small sorted map from a fixed set of keys to lists of integers. One
// representation for all ops means one printer, one parser, one hash and one comparison.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/dtype.h"

namespace lockstep {

enum class Attr : std::uint8_t {
  kShape,
  kDims,
  kAxis,
  kTo,
  kStart,
  kLimit,
  kStride,
  kLow,
  kHigh,
  kLhsBatch,
  kRhsBatch,
  kLhsContract,
  kRhsContract,
  kPadding,
  kDilation,
  kGroups,
  kWindow,
  kCausal,
  kMasked,
  kScale,
  kDropout,
  kStream,
  kRanks,
  kRoot,
  kIndex,
};
inline constexpr int kAttrCount = static_cast<int>(Attr::kIndex) + 1;

/// How a value is written: a list [1,2], one integer, one float (stored as the bits of a double), a
/// flag, or a dtype name.
enum class AttrType : std::uint8_t { kInts, kInt, kFloat, kFlag, kDType };

std::string_view name_of(Attr attr);
AttrType type_of(Attr attr);
std::optional<Attr> parse_attr(std::string_view name);

class Attrs {
 public:
  using Ints = std::vector<std::int64_t>;
  using Entry = std::pair<Attr, Ints>;

  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries);

  void set(Attr attr, Ints values);
  void set_int(Attr attr, std::int64_t value) { set(attr, {value}); }
  void set_float(Attr attr, double value);
  void set_dtype(DType value) { set(Attr::kTo, {static_cast<std::int64_t>(value)}); }

  bool has(Attr attr) const { return find(attr) != nullptr; }
  /// The list; internal error if absent.
  const Ints& ints(Attr attr) const;
  std::int64_t integer(Attr attr) const { return ints(attr)[0]; }
  double real(Attr attr) const;
  bool flag(Attr attr) const { return has(attr) && integer(attr) != 0; }
  DType dtype() const { return static_cast<DType>(integer(Attr::kTo)); }  ///< kTo

  const std::vector<Entry>& entries() const { return entries_; }  ///< sorted by key
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  const Ints* find(Attr attr) const;
  std::vector<Entry> entries_;
};

}  // namespace lockstep
