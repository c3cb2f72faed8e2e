// Counts causes and their cost: for the line of each miss, for the table at the end of a run, and
// for warnings of repeated recompilations.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/explain/history.h"

namespace lockstep {

class CauseTally {
 public:
  /// A cause beside the main one.
  struct Other {
    Cause cause;
    std::string remedy;
    bool perhaps;  ///< it may follow from the main one
  };
  /// Misses of one main cause and subject, for all sizes of the subject.
  struct Row {
    Cause cause = Cause::kFirstCompile;
    std::string subject =
        {};  ///< without sizes if these differed; empty for causes from kEvicted on
    std::int64_t compiled = 0;
    std::int64_t loaded = 0;  ///< from the disk
    double seconds = 0;
    std::set<std::string> values = {};  ///< of the subject, the first kMaxValues
    std::string line = {};  ///< "model.cpp:41", of the last miss; empty if there is none
    std::string remedy = {};
    std::string example = {};  ///< the last miss, in words
    /// Further causes by their subjects, the first kMaxAlso.
    std::map<std::string, Other> also = {};
    std::string key = {};  ///< what its misses have in common
    std::int64_t misses() const { return compiled + loaded; }
    /// "batch.tokens[length] had 3 values (57, 61, 64)"; "constant ...: 1 -> 2".
    std::string describe() const;
  };
  static constexpr std::size_t kMaxValues = 64;
  static constexpr std::size_t kMaxRows = 64;
  static constexpr std::size_t kMaxAlso = 8;

  void add(const Explanation& explanation, bool loaded, double seconds);

  std::int64_t misses() const { return misses_; }
  std::int64_t misses_of(Cause cause) const;
  /// Sorted by misses, most first; without first compilations.
  std::vector<Row> rows() const;
  /// A few lines of text for people; empty if only first programs, and those of a new build, were
  /// made.
  std::string table() const;

 private:
  /// ", with batch.mask[length]": further causes of the row's misses that have no row of their own.
  std::string others(const Row& row) const;

  std::int64_t misses_ = 0;
  std::int64_t first_compilations_ = 0;
  std::vector<Row> rows_;
};

}  // namespace lockstep
