// An order of work that supports merging groups: an acyclic graph whose nodes can be merged, always
// in topological order (after Pearce and Kelly, A dynamic topological sort algorithm for directed
// acyclic graphs, 2006: a merge visits only the nodes between the two).
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

class FusionOrder {
 public:
  /// Appends a node after all others.
  std::int32_t add_node();
  /// `from` was added before `to`. If `apart`, the two cannot be merged.
  void add_edge(std::int32_t from, std::int32_t to, bool apart);

  /// The node that `node` is now part of.
  std::int32_t find(std::int32_t node);

  enum class Answer : std::uint8_t {
    kYes,
    kCycle,   ///< their edge is `apart`, or a path leads from one to the other through a third
    kTooFar,  ///< more than kMaxVisits nodes lie on the paths between them
  };
  /// Merges two nodes, each a result of find(), if that is possible. Afterwards find() returns one
  /// of them for both.
  Answer merge(std::int32_t a, std::int32_t b);

  /// Results of find(), each after all nodes with an edge to it.
  std::vector<std::int32_t> order() const;

  static constexpr int kMaxVisits = 512;

 private:
  struct Edge {
    std::int32_t to;  ///< as given to add_edge()
    bool apart;
  };

  std::vector<std::int32_t> parent_;
  std::vector<std::vector<Edge>> next_;
  static constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> order_;    ///< kNone where a node was merged into another
  std::vector<std::size_t> position_;  ///< in order_
  std::vector<std::int32_t> seen_;     ///< by the search with this number
  std::int32_t search_ = 0;
};

}  // namespace lockstep
