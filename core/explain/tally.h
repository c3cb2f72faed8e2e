// Counts causes and their cost: for the line of each miss, for the table at the end of a run, and
// for warnings of repeated recompilations.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/explain/history.h"

namespace lockstep {

class CauseTally {
 public:
  /// What misses have in common, whatever values or sizes it has in them.
  struct Identity {
    Cause cause = Cause::kFirstCompile;
    std::string key = {};
    std::size_t number = 0;  ///< of those of one cause and key, as two numbers on one line
    auto operator<=>(const Identity&) const = default;
  };
  /// A cause of misses, for all sizes of its subject.
  struct Root {
    Identity id;
    std::string subject = {};           ///< without sizes if these differed
    std::set<std::string> values = {};  ///< the first kMaxValues
    // Of the last miss:
    std::string example = {};  ///< in words
    std::string change = {};   ///< "57 -> 61"; empty if there are no values
    std::string line = {};     ///< "model.cpp:41"; empty if there is none
    std::string remedy = {};
    bool perhaps = false;  ///< in all misses: it may follow from the main cause
  };
  /// Misses of one main cause.
  struct Row {
    Cause cause = Cause::kFirstCompile;
    std::string key = {};
    std::int64_t compiled = 0;
    std::int64_t loaded = 0;  ///< from the disk
    double seconds = 0;
    /// The main cause, then those beside it: the first kMaxRoots.
    std::vector<Root> roots = {};

    const Root& main() const { return roots.front(); }
    std::int64_t misses() const { return compiled + loaded; }
    /// "batch.tokens[length] had 3 values (57, 61, 64)"; "constant ...: 1 -> 2 and 0.5 -> 0.1":
    /// the main cause, and others of its subject.
    std::string describe() const;
    /// Of the main cause, then the different ones of the others that are faults.
    std::vector<std::string> remedies() const;
  };
  /// Causes of one subject beside a row's main cause.
  struct Others {
    Cause cause;
    std::string what;  ///< without the values if they are those of the main cause
    bool alike;        ///< they are
    std::string remedy;
  };
  static constexpr std::size_t kMaxValues = 64;
  static constexpr std::size_t kMaxRows = 64;
  static constexpr std::size_t kMaxRoots = 64;

  void add(const Explanation& explanation, bool loaded, double seconds);

  std::int64_t misses() const { return misses_; }
  std::int64_t misses_of(Cause cause) const;
  /// Sorted by misses, most first; without first compilations.
  std::vector<Row> rows() const;
  /// The further causes of a row's misses, but for those that are the main cause of another row
  /// with all their values.
  std::vector<Others> others(const Row& row) const;
  /// The same in words, to follow the row's: ", with batch.mask[length]; also constant f32[]
  /// gpt.cpp:12: 1 -> 2". Empty if there are none.
  std::string describe_others(const Row& row) const;
  /// A few lines of text for people; empty if only first programs, and those of a new build, were
  /// made.
  std::string table() const;

 private:
  Row& row_of(const Difference& main);
  Identity identify(const Difference& difference, const std::set<Identity>& told);
  bool is_told_elsewhere(const Root& root, const Row& row) const;

  std::int64_t misses_ = 0;
  std::int64_t first_compilations_ = 0;
  std::vector<Row> rows_;
  /// The values of each number of a cause and key, in all rows.
  std::map<std::pair<Cause, std::string>, std::vector<std::set<std::string>>> numbers_;
};

}  // namespace lockstep
