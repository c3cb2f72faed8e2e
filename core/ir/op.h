// An op and the facts about it: a row of one table. Code asks for an op's class or facts, not for
// lists of names; code that differs from op to op within a class is a switch over as<Class>(op)
// without `default`: the compiler then reports a switch that lacks a new op.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/api.h"
#include "core/ir/attrs.h"
#include "core/ir/op_set.h"

namespace LOCKSTEP_API lockstep {

enum class OpClass : std::uint8_t {
  kLeaf,
  kUnary,
  kBinary,
  kCompare,
  kSelect,
  kConvert,
  kMovement,
  kReduction,
  kContraction,
  kWindow,
  kAttention,
  kControl,
  kCollective,
};

// clang-format off
constexpr OpClass class_of(LeafOp) { return OpClass::kLeaf; }
constexpr OpClass class_of(UnaryOp) { return OpClass::kUnary; }
constexpr OpClass class_of(BinaryOp) { return OpClass::kBinary; }
constexpr OpClass class_of(CompareOp) { return OpClass::kCompare; }
constexpr OpClass class_of(SelectOp) { return OpClass::kSelect; }
constexpr OpClass class_of(ConvertOp) { return OpClass::kConvert; }
constexpr OpClass class_of(MovementOp) { return OpClass::kMovement; }
constexpr OpClass class_of(ReductionOp) { return OpClass::kReduction; }
constexpr OpClass class_of(ContractionOp) { return OpClass::kContraction; }
constexpr OpClass class_of(WindowOp) { return OpClass::kWindow; }
constexpr OpClass class_of(AttentionOp) { return OpClass::kAttention; }
constexpr OpClass class_of(ControlOp) { return OpClass::kControl; }
constexpr OpClass class_of(CollectiveOp) { return OpClass::kCollective; }
// clang-format on

/// The enum of one class of ops.
template <class E>
concept OpsOfClass = requires(E op) {
  class_of(op);
};

/// An op of any class: Op::kExp is UnaryOp::kExp. Templates must write the latter, because GCC 12
/// fails on the former.
class Op {
 public:
  using enum LeafOp;
  using enum UnaryOp;
  using enum BinaryOp;
  using enum CompareOp;
  using enum SelectOp;
  using enum ConvertOp;
  using enum MovementOp;
  using enum ReductionOp;
  using enum ContractionOp;
  using enum WindowOp;
  using enum AttentionOp;
  using enum ControlOp;
  using enum CollectiveOp;

  constexpr Op(OpsOfClass auto op)  // NOLINT(google-explicit-constructor)
      : number_(static_cast<std::uint8_t>(op)) {}
  /// Numbers start at 0, in the order of op_set.h.
  constexpr int number() const { return number_; }
  friend constexpr auto operator<=>(Op, Op) = default;

 private:
  std::uint8_t number_;
};
inline constexpr int kOpCount = after(Op::kCollectiveBroadcast);

/// Which dtypes the first operand may have.
enum class Accepts : std::uint8_t {
  kAny,
  kNumbers,  ///< all but bool
  kFloats,
  kIntegers,
  kBits,      ///< bool or integers
  kSummable,  ///< f32, f64, i32 or i64: dtypes of sums over ranks
};

/// The dtype of the result.
enum class Gives : std::uint8_t {
  kFirst,   ///< the first operand's
  kSecond,  ///< the second operand's
  kBool,
  kI32,
  kStated,  ///< that of the attribute `to`; without it the first operand's
  kListed,  ///< that of the first type in the attribute `results`
  kNode,    ///< the node states its type: inputs, constants, nodes with a body
};

/// How gradients() goes from a result to the operands.
enum class Gradient : std::uint8_t {
  kRule,     ///< trace/gradient_rules_*.cpp
  kNothing,  ///< the gradient is zero: integers, booleans, step functions
  kMissing,  ///< there is no rule for it: differentiating it is an error that names the op
};

class AttrSet {
 public:
  constexpr AttrSet() = default;
  constexpr AttrSet(std::initializer_list<Attr> attrs) {
    for (const Attr attr : attrs) bits_ |= bit(attr);
  }
  constexpr bool has(Attr attr) const { return (bits_ & bit(attr)) != 0; }

 private:
  static constexpr std::uint32_t bit(Attr attr) { return 1U << static_cast<unsigned>(attr); }
  std::uint32_t bits_ = 0;
};
static_assert(kAttrCount <= 32);

struct OpInfo {
  Op op;
  OpClass op_class;
  std::string_view name;  ///< as in the text form
  int min_operands;
  int max_operands;  ///< -1: any number
  Accepts accepts;
  Gives gives;
  Gradient gradient;
  double flops_per_element;  ///< of the result; contractions have formulas in cost.cpp
  bool commutative;
  AttrSet required;
  AttrSet optional;
};

/// All rows, in the order of op_set.h.
std::span<const OpInfo> op_table();
const OpInfo& info_of(Op op);
inline std::string_view name_of(Op op) {
  return info_of(op).name;
}
std::optional<Op> parse_op(std::string_view name);

/// Error kInternal if the op is of another class.
void check_class(Op op, OpClass wanted);

/// The op as a value of its class's enum, for a switch.
template <OpsOfClass E>
E as(Op op) {
  check_class(op, class_of(E{}));
  return static_cast<E>(op.number());
}

/// One result element depends on the elements at the same place only (convert and select included).
bool is_elementwise(Op op);
bool is_collective(Op op);
bool is_arg_reduction(Op op);

}  // namespace lockstep
