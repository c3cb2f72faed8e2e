// What a change of the mode explains: dtypes of dots and the conversions to them, what training
// draws, and what its layers keep. It explains no number, no attribute and no other op.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/explain/differences.h"
#include "core/explain/op_groups.h"

namespace lockstep {

class ModeChange {
 public:
  explicit ModeChange(const Comparison& graphs);

  /// Whether the graphs were recorded in different modes.
  bool any() const { return before_ != now_; }
  /// Whether dots have another dtype.
  bool changes_dtypes() const;
  /// Whether one trains where the other evaluates.
  bool changes_purpose() const;
  /// Whether training began, or ended.
  bool changes_updates() const;

  /// Whether ops that only `graph` has are there because of the mode.
  bool explains_ops(const GraphDescriptor& graph, const OpGroup& group) const;

  /// Whether ops of the module that keeps this variable, "bn.running_mean", were recorded in a mode
  /// that only one of the graphs has.
  bool changes_keeper_of(std::string_view variable) const;

  /// The mode itself, as a cause.
  Difference difference() const;

 private:
  using Place = std::pair<std::string, std::string>;  ///< line and scope
  /// Whether the other graph recorded the same ops of the module on another line in another mode:
  /// both branches of an `if` call it.
  bool is_called_elsewhere(const GraphDescriptor& graph, const OpGroup& group) const;
  /// Whether it was recorded in a mode that only one of the graphs has, or where the other graph
  /// was.
  bool in_changed_mode(const GraphDescriptor& graph, ValueId id) const;
  /// Whether the other graph recorded in such a mode what both have around the group: what all of
  /// it takes and is taken by, or a part of its module.
  bool stands_in_changed_mode(const GraphDescriptor& graph, const OpGroup& group) const;
  void note_places(const GraphDescriptor& graph);

  const Comparison& graphs_;
  std::set<std::string> before_;  ///< "training, bf16"
  std::set<std::string> now_;
  std::set<std::uint8_t> changed_;              ///< numbers of modes that one graph has alone
  std::set<Place> places_;                      ///< of ops that were recorded in them
  std::set<std::string, std::less<>> modules_;  ///< that have such ops
};

/// Of "training, bf16 and evaluation, f32": what is done, without the dtypes.
std::set<std::string> purposes_of(std::string_view mode);

}  // namespace lockstep
