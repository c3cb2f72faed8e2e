// Ops of two graphs that take other values than before: operands in another order, an input in the
// place of another, values in each other's roles.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/explain/differences.h"

namespace lockstep {

class OperandChanges {
 public:
  /// What else differs.
  struct Context {
    bool same_ops = false;        ///< no line recorded other ops
    std::set<std::string> lines;  ///< that recorded other ops, or in another order
  };
  /// Appends to `out`, which must outlive it.
  OperandChanges(const Comparison& graphs, const Context& context, std::vector<Difference>& out)
      : graphs_(graphs), old_(graphs.old), now_(graphs.now), context_(context), out_(out) {}

  /// A list of another length. What was recorded to make it so is told instead.
  void tell_parts(ValueId id);
  /// The same operands in another order.
  void tell_swap(ValueId id);
  /// The first operand that is another one.
  void tell_operand(ValueId id);
  /// The first operand that is another one, of values that both programs recorded, though one of
  /// them does not need it.
  void tell_choice(ValueId id);
  /// At the end: judges all that tell_operand() told.
  void settle();

 private:
  struct Replaced {
    ValueId before;
    ValueId now;  ///< what the old graph has of it
    ValueId taker;
    std::size_t difference;
    friend bool operator==(const Replaced& a, const Replaced& b) {
      return a.before == b.before && a.now == b.now;
    }
  };
  using Taken = std::vector<Replaced>;

  ValueId old_of(ValueId id) const { return graphs_.alignment.to_old[index_of(id)]; }
  Difference& add(Cause cause, ValueId id, std::string subject);
  void settle(Taken taken, const char* what);
  bool is_disturbed(const Replaced& each) const;
  bool are_terms(const Taken& taken) const;
  void tell_roles(Difference& difference, const std::set<ValueId>& values) const;

  const Comparison& graphs_;
  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  Context context_;
  std::vector<Difference>& out_;
  Taken inputs_, results_;
  std::set<std::pair<ValueId, ValueId>> choices_;  ///< that were told
};

}  // namespace lockstep
