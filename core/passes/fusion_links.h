// Which value reads which, and how: the edges along which the fusion pass joins groups.
//
// Some fusible values are *cloned*: every group that uses one computes it for itself, so that links
// pass through it to its operands. A cloned value that must also be in memory (an op outside of
// groups reads it, or it is an output) is a unit too, and is computed once more for that.
#pragma once

#include <vector>

#include "core/ir/graph.h"
#include "core/passes/fusion_rules.h"

namespace lockstep {

/// How a value reaches a reader in the same group; kMemory: only from another one.
enum class Link : std::uint8_t { kDirect, kRow, kMemory };

struct FusionRead {
  ValueId source = kNoValue;
  Link link = Link::kMemory;
  friend bool operator==(const FusionRead&, const FusionRead&) = default;
};

class FusionLinks {
 public:
  FusionLinks(const Graph& graph, std::vector<bool> cloned);

  FusionKind kind(ValueId id) const { return kinds_[static_cast<std::size_t>(id)]; }
  bool is_fusible(ValueId id) const { return kind(id) != FusionKind::kNone; }
  bool is_cloned(ValueId id) const { return cloned_[static_cast<std::size_t>(id)]; }
  /// Whether the value has a command of its own or is a member of exactly one group.
  bool is_unit(ValueId id) const {
    return !is_cloned(id) || materialized_[static_cast<std::size_t>(id)];
  }
  bool is_output(ValueId id) const { return output_[static_cast<std::size_t>(id)]; }
  /// The values that a unit reads, through clones; each once, without scalar constants.
  const std::vector<FusionRead>& reads(ValueId unit) const {
    return reads_[static_cast<std::size_t>(unit)];
  }
  /// The units that read a unit.
  const std::vector<ValueId>& readers(ValueId unit) const {
    return readers_[static_cast<std::size_t>(unit)];
  }

 private:
  void find_materialized();
  void collect(ValueId reader, const Node& through, std::size_t i);
  void add(ValueId reader, FusionRead read);

  const Graph& graph_;
  std::vector<bool> cloned_;
  std::vector<bool> materialized_;
  std::vector<bool> output_;
  std::vector<FusionKind> kinds_;
  std::vector<std::vector<FusionRead>> reads_;
  std::vector<std::vector<ValueId>> readers_;
};

}  // namespace lockstep
