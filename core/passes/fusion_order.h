// An order of work in which groups can be merged: an acyclic graph whose nodes become one, kept in
// topological order on the way (after Pearce and Kelly, A dynamic topological sort algorithm for
// directed acyclic graphs, 2006: only what lies between the two nodes is looked at).
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

class FusionOrder {
 public:
  /// Appends a node behind all others.
  std::int32_t add_node();
  /// `from` was added before `to`. The two cannot become one if they stand `apart`.
  void add_edge(std::int32_t from, std::int32_t to, bool apart);

  /// The node that `node` is part of by now.
  std::int32_t find(std::int32_t node);

  enum class Answer : std::uint8_t {
    kYes,
    kCycle,   ///< they stand apart, or a path leads from one to the other through a third
    kTooFar,  ///< more than kMaxVisits nodes lie on the ways between them
  };
  /// Whether the two nodes, found ones, can become one; merges them if so, `find` giving either.
  Answer merge(std::int32_t a, std::int32_t b);

  /// Found nodes, each after all nodes with an edge to it.
  std::vector<std::int32_t> order() const;

  static constexpr int kMaxVisits = 512;

 private:
  struct Edge {
    std::int32_t to;  ///< as it was added
    bool apart;
  };

  std::vector<std::int32_t> parent_;
  std::vector<std::vector<Edge>> next_;
  static constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> order_;    ///< kNone where a node went into another
  std::vector<std::size_t> position_;  ///< in order_
  std::vector<std::int32_t> seen_;     ///< by the search with this number
  std::int32_t search_ = 0;
};

}  // namespace lockstep
