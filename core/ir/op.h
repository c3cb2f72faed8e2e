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

/// The class of an op: which enum of op_set.h it is in.
enum class OpClass : std::uint8_t {
  kLeaf,         ///< LeafOp
  kUnary,        ///< UnaryOp
  kBinary,       ///< BinaryOp
  kCompare,      ///< CompareOp
  kSelect,       ///< SelectOp
  kConvert,      ///< ConvertOp
  kMovement,     ///< MovementOp
  kReduction,    ///< ReductionOp
  kContraction,  ///< ContractionOp
  kWindow,       ///< WindowOp
  kAttention,    ///< AttentionOp
  kControl,      ///< ControlOp
  kCollective,   ///< CollectiveOp
};

// clang-format off
/// The class that an enum stands for.
/// @{
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
/// @}
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

  /// An op of a class.
  constexpr Op(OpsOfClass auto op)  // NOLINT(google-explicit-constructor)
      : number_(static_cast<std::uint8_t>(op)) {}
  /// Numbers start at 0, in the order of op_set.h.
  constexpr int number() const { return number_; }
  friend constexpr auto operator<=>(Op, Op) = default;

 private:
  std::uint8_t number_;
};
inline constexpr int kOpCount = after(Op::kCollectiveBroadcast);  ///< the number of ops

/// Which dtypes the first operand may have.
enum class Accepts : std::uint8_t {
  kAny,       ///< any dtype
  kNumbers,   ///< all but bool
  kFloats,    ///< f32, bf16, f16, f64
  kIntegers,  ///< i32, i64, u8
  kBits,      ///< bool or integers
  kSummable,  ///< f32, f64, i32 or i64: dtypes of sums over ranks
};

/// The dtype of the result.
enum class Gives : std::uint8_t {
  kFirst,   ///< the first operand's
  kSecond,  ///< the second operand's
  kBool,    ///< bool, whatever the operands
  kI32,     ///< i32, whatever the operands
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

/// Some of the keys of attributes.
class AttrSet {
 public:
  constexpr AttrSet() = default;  ///< no key
  /// These keys.
  constexpr AttrSet(std::initializer_list<Attr> attrs) {
    for (const Attr attr : attrs) bits_ |= bit(attr);
  }
  /// Whether the key is one of them.
  constexpr bool has(Attr attr) const { return (bits_ & bit(attr)) != 0; }

 private:
  static constexpr std::uint32_t bit(Attr attr) { return 1U << static_cast<unsigned>(attr); }
  std::uint32_t bits_ = 0;
};
static_assert(kAttrCount <= 32);

/// The facts about an op: a row of the table.
struct OpInfo {
  Op op;                  ///< the op of this row
  OpClass op_class;       ///< its class
  std::string_view name;  ///< as in the text form
  /// `operands -> result {attributes}`, for one rank of each operand, others being alike. Letters
  /// are sizes, `...` any dimensions, the same everywhere. A dtype stands where it is not the first
  /// operand's. OH and OW are the windows of size KH x KW that fit into H x W:
  /// OH = (H + top + bottom - dilation * (KH - 1) - 1) / stride + 1. Without optional operands.
  std::string_view shapes;
  int min_operands;          ///< the fewest operands
  int max_operands;          ///< -1: any number
  Accepts accepts;           ///< what the first operand may be
  Gives gives;               ///< how the dtype of the result follows
  Gradient gradient;         ///< whether gradients pass it
  double flops_per_element;  ///< of the result; contractions have formulas in cost.cpp
  bool commutative;          ///< whether its two operands may be swapped
  AttrSet required;          ///< attributes that it must have
  AttrSet optional;          ///< attributes that it may have
};

/// The words for facts of an op in documents.
std::string_view name_of(OpClass op_class);
std::string_view name_of(Accepts accepts);    ///< "numbers"
std::string_view name_of(Gives gives);        ///< "the first operand's"
std::string_view name_of(Gradient gradient);  ///< "rule"

/// All rows, in the order of op_set.h.
std::span<const OpInfo> op_table();
const OpInfo& info_of(Op op);  ///< the row of an op
/// The name in the text form: "dot_general".
inline std::string_view name_of(Op op) {
  return info_of(op).name;
}
/// The inverse of name_of; nothing for an unknown name.
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
bool is_collective(Op op);     ///< one of CollectiveOp
bool is_arg_reduction(Op op);  ///< kArgMax or kArgMin

}  // namespace lockstep
