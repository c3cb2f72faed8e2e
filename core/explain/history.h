// The graphs that programs were made of, and why a new one is needed: it is told from its nearest
// relative. Used by one thread.
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
  std::optional<std::int64_t> relative;  ///< the number of the program it was told from
  /// Cut by a read that nobody knew: whether that is a cause shows in the graph after it.
  bool awaits_next = false;

  Cause cause() const {
    return differences.empty() ? Cause::kFirstCompile : differences.front().cause;
  }
  /// Of the main cause.
  std::string_view remedy() const {
    return differences.empty() ? std::string_view() : differences.front().remedy;
  }
  /// What ends each of the causes that are not expected: different ones, the main one's first.
  std::vector<std::string_view> remedies() const;
  /// The causes' texts, at most `count`: "batch.tokens[length]: 57 -> 61; and 2 more". Then as many
  /// of what may follow from them.
  std::string text(std::size_t count = 3) const;
  std::size_t derived() const;
};

class ProgramHistory {
 public:
  struct Limits {
    std::size_t graphs = 256;
    std::size_t bytes = std::size_t{64} << 20U;
    std::size_t structures = 65536;  ///< of which only the hash is known
  };
  ProgramHistory() : ProgramHistory(Limits{}) {}
  explicit ProgramHistory(const Limits& limits) : limits_(limits) {}

  /// Why there is no program for this graph.
  Explanation explain(const GraphDescriptor& now);
  /// From now on there is one.
  void add(std::shared_ptr<const GraphDescriptor> graph, std::int64_t number);
  /// The program of this structure was used again.
  void touch(const Hash128& structure);
  /// Whether a program of this structure was made before.
  bool knows(const Hash128& structure) const { return structures_.contains(structure); }

  /// How many structures are known.
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
    bool other_mode = false;
    bool other_site = false;
    /// From it, if they were needed for the choice: then never none.
    std::vector<Difference> differences = {};
  };
  Choice choose(const GraphDescriptor& now) const;
  Choice choose_at_place(const GraphDescriptor& now) const;
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
