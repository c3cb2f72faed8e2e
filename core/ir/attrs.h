// Attributes of a node: a small sorted map from a fixed set of keys to lists of integers. One
// representation for all ops means one printer, one parser, one hash and one comparison.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/api.h"
#include "core/base/array_ref.h"
#include "core/base/dtype.h"
#include "core/base/small_vector.h"

namespace LOCKSTEP_API lockstep {

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
  kFunction,
  kVersion,
  kResults,
  kChannelsLast,
};
inline constexpr int kAttrCount = static_cast<int>(Attr::kChannelsLast) + 1;

/// How a value is written: a list [1,2], one integer, one float (stored as the bits of a double), a
/// flag, a dtype name, a text "name" (stored as one byte a word), or a list of types
/// [f32[8],i32[8,4]] (stored as type_list.h says).
enum class AttrType : std::uint8_t { kInts, kInt, kFloat, kFlag, kDType, kText, kTypes };

std::string_view name_of(Attr attr);
AttrType type_of(Attr attr);
std::optional<Attr> parse_attr(std::string_view name);

using IntView = ArrayRef<std::int64_t>;

class Attrs {
 public:
  using Ints = std::vector<std::int64_t>;

  struct Entry {
    Attr attr;
    IntView values;
  };

  /// The entries, sorted by key.
  class Entries {
   public:
    class Iterator {
     public:
      explicit Iterator(const std::int64_t* at) : at_(at) {}
      Entry operator*() const { return {attr_of(*at_), IntView(at_ + 1, count_of(*at_))}; }
      Iterator& operator++() {
        at_ += 1 + count_of(*at_);
        return *this;
      }
      friend bool operator==(const Iterator&, const Iterator&) = default;

     private:
      const std::int64_t* at_;
    };
    explicit Entries(std::span<const std::int64_t> words) : words_(words) {}
    Iterator begin() const { return Iterator(words_.data()); }
    Iterator end() const { return Iterator(words_.data() + words_.size()); }

   private:
    std::span<const std::int64_t> words_;
  };

  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries);
  ~Attrs() = default;
  // Out of line: when they are inlined, GCC warns of an overrun in the copy.
  Attrs(const Attrs&);
  Attrs(Attrs&&) noexcept;
  Attrs& operator=(const Attrs&);
  Attrs& operator=(Attrs&&) noexcept;

  /// `values` must not be of this object.
  void set(Attr attr, IntView values);
  void set_int(Attr attr, std::int64_t value) { set(attr, {value}); }
  void set_float(Attr attr, double value);
  void set_dtype(DType value) { set(Attr::kTo, {static_cast<std::int64_t>(value)}); }
  void set_text(Attr attr, std::string_view text);

  bool has(Attr attr) const { return find(attr) != words_.end(); }
  /// The list, until the next set(); internal error if absent.
  IntView ints(Attr attr) const;
  Ints copy_ints(Attr attr) const {
    const IntView values = ints(attr);
    return {values.begin(), values.end()};
  }
  std::int64_t integer(Attr attr) const { return ints(attr)[0]; }
  double real(Attr attr) const;
  std::string text(Attr attr) const;
  bool flag(Attr attr) const { return has(attr) && integer(attr) != 0; }
  DType dtype() const { return static_cast<DType>(integer(Attr::kTo)); }  ///< kTo

  Entries entries() const { return Entries(words()); }
  /// The whole content: equal words mean equal attributes.
  std::span<const std::int64_t> words() const { return {words_.data(), words_.size()}; }
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  // An entry is a word with key and length, then the values. The attributes of nearly all nodes fit
  // without an allocation: recording makes thousands of nodes a step.
  using Words = SmallVector<std::int64_t, 8>;

  static std::int64_t head(Attr attr, std::size_t count) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(attr) << 32U | count);
  }
  static Attr attr_of(std::int64_t head) { return static_cast<Attr>(head >> 32); }
  static std::size_t count_of(std::int64_t head) { return static_cast<std::uint32_t>(head); }
  Words::const_iterator find(Attr attr) const;

  Words words_;
};

}  // namespace lockstep
