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

/// The keys of attributes. op_set.h says which ops have which; name_of() is the key in the text
/// form.
enum class Attr : std::uint8_t {
  kShape,         ///< of the result
  kDims,          ///< dimensions of the operand
  kAxis,          ///< one dimension
  kTo,            ///< dtype of the result
  kStart,         ///< first index, by dimension
  kLimit,         ///< behind the last index, by dimension
  kStride,        ///< distance between elements or windows, by dimension
  kLow,           ///< padding before, by dimension
  kHigh,          ///< padding behind, by dimension
  kLhsBatch,      ///< dimensions of a that both operands have
  kRhsBatch,      ///< the same ones of b
  kLhsContract,   ///< dimensions of a that are summed over
  kRhsContract,   ///< the same ones of b
  kPadding,       ///< top, bottom, left, right
  kDilation,      ///< distance between a kernel's elements: height, width
  kGroups,        ///< parts of the channels that do not mix
  kWindow,        ///< height, width
  kCausal,        ///< a query sees no later keys
  kMasked,        ///< there is a key_mask
  kScale,         ///< factor of attention scores
  kDropout,       ///< probability of dropping a weight
  kStream,        ///< of random numbers
  kRanks,         ///< number of ranks
  kRoot,          ///< the rank whose value counts
  kIndex,         ///< of a group's result
  kFunction,      ///< name of a function on the host
  kVersion,       ///< of that function
  kResults,       ///< types of its results
  kChannelsLast,  ///< images are [N,H,W,C]
};
/// The number of keys.
inline constexpr int kAttrCount = static_cast<int>(Attr::kChannelsLast) + 1;

/// How a value is written.
enum class AttrType : std::uint8_t {
  kInts,   ///< [1,2]
  kInt,    ///< one integer
  kFloat,  ///< one float, kept as the bits of a double
  kFlag,   ///< there or not
  kDType,  ///< the name of a dtype
  kText,   ///< "name", kept as one byte a word
  kTypes,  ///< [f32[8],i32[8,4]], kept as type_list.h says
};

std::string_view name_of(Attr attr);  ///< as in the text form: "lhs_batch"
AttrType type_of(Attr attr);          ///< how its value is written
/// The inverse of name_of; nothing for an unknown name.
std::optional<Attr> parse_attr(std::string_view name);

using IntView = ArrayRef<std::int64_t>;  ///< integers as a parameter: {1, 2}, or any list of them

/// The attributes of one node.
class Attrs {
 public:
  using Ints = std::vector<std::int64_t>;  ///< a list of integers that owns them

  /// A key and its list.
  struct Entry {
    Attr attr;       ///< the key
    IntView values;  ///< its list, until the next set()
  };

  /// The entries, sorted by key.
  class Entries {
   public:
    /// Goes over the entries in the order of their keys.
    class Iterator {
     public:
      /// At the entry that begins at this word.
      explicit Iterator(const std::int64_t* at) : at_(at) {}
      /// The entry here.
      Entry operator*() const { return {attr_of(*at_), IntView(at_ + 1, count_of(*at_))}; }
      /// Goes to the next entry.
      Iterator& operator++() {
        at_ += 1 + count_of(*at_);
        return *this;
      }
      friend bool operator==(const Iterator&, const Iterator&) = default;

     private:
      const std::int64_t* at_;
    };
    explicit Entries(std::span<const std::int64_t> words) : words_(words) {}  ///< of Attrs::words()
    Iterator begin() const { return Iterator(words_.data()); }  ///< the entry of the first key
    /// Behind the entry of the last key.
    Iterator end() const { return Iterator(words_.data() + words_.size()); }

   private:
    std::span<const std::int64_t> words_;
  };

  Attrs() = default;                            ///< without entries
  Attrs(std::initializer_list<Entry> entries);  ///< set() for each entry in order
  ~Attrs() = default;
  /// Copies and moves.
  /// @{
  // Out of line: when they are inlined, GCC warns of an overrun in the copy.
  Attrs(const Attrs&);
  Attrs(Attrs&&) noexcept;
  Attrs& operator=(const Attrs&);
  Attrs& operator=(Attrs&&) noexcept;
  /// @}

  /// `values` must not be of this object.
  void set(Attr attr, IntView values);
  /// Sets a list of one integer.
  void set_int(Attr attr, std::int64_t value) { set(attr, {value}); }
  void set_float(Attr attr, double value);  ///< sets a number, kept as the bits of a double
  /// Sets Attr::kTo.
  void set_dtype(DType value) { set(Attr::kTo, {static_cast<std::int64_t>(value)}); }
  void set_text(Attr attr, std::string_view text);  ///< sets a text, a byte a word

  bool has(Attr attr) const { return find(attr) != words_.end(); }  ///< whether the key is there
  /// The list, until the next set(); internal error if absent.
  IntView ints(Attr attr) const;
  /// A copy of ints().
  Ints copy_ints(Attr attr) const {
    const IntView values = ints(attr);
    return {values.begin(), values.end()};
  }
  /// The first integer; internal error if absent.
  std::int64_t integer(Attr attr) const { return ints(attr)[0]; }
  double real(Attr attr) const;       ///< what set_float() set; internal error if absent
  std::string text(Attr attr) const;  ///< what set_text() set; internal error if absent
  /// Whether the key is there and not 0.
  bool flag(Attr attr) const { return has(attr) && integer(attr) != 0; }
  DType dtype() const { return static_cast<DType>(integer(Attr::kTo)); }  ///< kTo

  Entries entries() const { return Entries(words()); }  ///< all, sorted by key
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
