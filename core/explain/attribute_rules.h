// What an attribute of an op may follow from: shapes, bounds and paddings are functions of sizes;
// axes follow from ranks; flags, windows, strides follow from nothing.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "core/explain/differences.h"
#include "core/explain/mode_change.h"
#include "core/explain/size_changes.h"

namespace lockstep {

enum class Follows : std::uint8_t { kNo, kPerhaps, kYes };

class AttributeRules {
 public:
  using Place = std::pair<std::string, std::string>;  ///< line and scope
  /// What else differs.
  struct Context {
    const SizeChanges& sizes;
    const ModeChange& mode;
    const std::set<Place>& changed_places;  ///< with ops that one graph has alone
    bool input_shape = false;
    bool input_dtype = false;
    bool same_ops = false;
  };
  AttributeRules(const Comparison& graphs, const Context& context)
      : graphs_(graphs), old_(graphs.old), now_(graphs.now), context_(context) {}

  /// Whether the attribute of the new graph's op changed because of what was found so far.
  Follows judge(ValueId id, Attr attr) const;

 private:
  ValueId old_of(ValueId id) const { return graphs_.alignment.to_old[index_of(id)]; }
  bool has_other_rank(ValueId id) const;
  bool fits_partner(ValueId id) const;
  Follows judge_shape(ValueId id, IntView before, IntView now) const;
  Follows judge_bound(ValueId id, Attr attr, IntView before, IntView now) const;
  Follows judge_padding(ValueId id, Attr attr, IntView before, IntView now) const;
  Follows judge_scale(IntView before, IntView now) const;
  bool is_whole(ValueId id, IntView before, IntView now) const;

  const Comparison& graphs_;
  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  Context context_;
};

}  // namespace lockstep
