// The graphs that programs were made of. It explains why a new program is needed: the graph is
// compared with its nearest relative. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/explain/descriptor.h"
#include "core/explain/difference.h"

namespace lockstep {

struct Explanation {
  /// Causes in their order, then what follows from them. Empty for a first compilation.
  std::vector<Difference> differences;
  std::optional<std::int64_t> relative;  ///< the number of the relative's program
  /// Cut by a read that is new, and the next graph, which shows whether that is a cause, is not
  /// known yet.
  bool awaits_next = false;

  /// Whether only the next graph shows the cause.
  bool is_open() const { return awaits_next && differences.empty(); }
  Cause cause() const {
    return differences.empty() ? Cause::kFirstCompile : differences.front().cause;
  }
  /// The remedy of the main cause.
  std::string_view remedy() const {
    return differences.empty() ? std::string_view() : differences.front().remedy;
  }
  /// The different remedies of the causes, but those of buckets; the main cause's first.
  std::vector<std::string_view> remedies() const;
  /// The causes' texts, at most `count`: "batch.tokens[length]: 57 -> 61; and 2 more". Then as many
  /// of the differences that may follow from them.
  std::string text(std::size_t count = 3) const;
  std::size_t derived() const;
};

class ProgramHistory {
 public:
  struct Limits {
    std::size_t graphs = 256;
    std::size_t bytes = std::size_t{64} << 20U;
    std::size_t structures = 65536;  ///< of which only the hash is kept
  };
  ProgramHistory() : ProgramHistory(Limits{}) {}
  explicit ProgramHistory(const Limits& limits) : limits_(limits) {}

  /// Why there is no program for this graph.
  Explanation explain(const GraphDescriptor& now);
  /// Records that there is one from now on.
  void add(std::shared_ptr<const GraphDescriptor> graph, std::int64_t number);
  /// The program of this structure was used again.
  void touch(const Hash128& structure);
  /// Whether a program of this structure was made before.
  bool knows(const Hash128& structure) const { return structures_.contains(structure); }

  /// The number of known structures.
  std::size_t structures() const { return structures_.size(); }
  std::size_t size() const { return graphs_.size(); }  ///< graphs
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::shared_ptr<const GraphDescriptor> graph;
    std::int64_t number;
  };
  struct Choice {
    const Entry* relative = nullptr;
    bool other_site = false;
    /// The differences from it, if they were needed for the choice: then at least one.
    std::vector<Difference> differences = {};
  };
  Choice choose(const GraphDescriptor& now) const;
  Choice choose_at_place(const GraphDescriptor& now) const;
  bool was_cut_without(const CutSite& read, const CutSite& end) const;
  void judge_numbers(std::vector<Difference>& differences);
  void forget_oldest();

  Limits limits_;
  std::list<Entry> graphs_;  ///< most recently used first
  std::unordered_map<Hash128, std::list<Entry>::iterator, Hash128Hasher> index_;
  std::unordered_set<Hash128, Hash128Hasher> structures_;
  std::deque<Hash128> structures_by_age_;
  /// Subjects of numbers that changed while no size did.
  std::set<std::string> free_numbers_;
  std::size_t bytes_ = 0;
};

}  // namespace lockstep
