// Expressions over vectors in LLVM IR, with the operators and functions that vector_math.h uses.
#pragma once

#include <cstdint>
#include <type_traits>

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace lockstep::codegen {

/// A vector value: floats (f32, f64), integers or truth values. Operators build instructions at the
/// builder's position. Integer comparisons and right shifts are signed.
class Lanes {
 public:
  Lanes(llvm::IRBuilderBase& builder, llvm::Value* value) : builder_(&builder), value_(value) {}

  llvm::Value* get() const { return value_; }
  llvm::IRBuilderBase& builder() const { return *builder_; }

  /// `c` in every lane, of this vector's type.
  Lanes like(double c) const;
  Lanes like(std::int64_t c) const;
  template <class C>
  requires std::is_arithmetic_v<C> Lanes like(C c)
  const {
    if constexpr (std::is_floating_point_v<C>) {
      return like(static_cast<double>(c));
    } else {
      return like(static_cast<std::int64_t>(c));
    }
  }

 private:
  llvm::IRBuilderBase* builder_;
  llvm::Value* value_;
};

Lanes operator+(Lanes a, Lanes b);
Lanes operator-(Lanes a, Lanes b);
Lanes operator*(Lanes a, Lanes b);
Lanes operator/(Lanes a, Lanes b);  ///< floats
Lanes operator-(Lanes a);           ///< floats: the sign bit
Lanes operator&(Lanes a, Lanes b);
Lanes operator|(Lanes a, Lanes b);
Lanes operator^(Lanes a, Lanes b);
Lanes operator<<(Lanes a, int distance);
Lanes operator>>(Lanes a, int distance);
Lanes operator<(Lanes a, Lanes b);
Lanes operator>(Lanes a, Lanes b);
Lanes operator<=(Lanes a, Lanes b);
Lanes operator>=(Lanes a, Lanes b);
Lanes operator==(Lanes a, Lanes b);
Lanes operator!=(Lanes a, Lanes b);  ///< floats: true for NaN
Lanes operator!(Lanes a);

// With a number on the right or left.
#define LS_LANES_WITH_NUMBERS(op)                                    \
  template <class C>                                                 \
  requires std::is_arithmetic_v<C> Lanes operator op(Lanes a, C b) { \
    return a op a.like(b);                                           \
  }                                                                  \
  template <class C>                                                 \
  requires std::is_arithmetic_v<C> Lanes operator op(C a, Lanes b) { \
    return b.like(a) op b;                                           \
  }
LS_LANES_WITH_NUMBERS(+)
LS_LANES_WITH_NUMBERS(-)
LS_LANES_WITH_NUMBERS(*)
LS_LANES_WITH_NUMBERS(/)
LS_LANES_WITH_NUMBERS(&)
LS_LANES_WITH_NUMBERS(|)
LS_LANES_WITH_NUMBERS(<)
LS_LANES_WITH_NUMBERS(>)
LS_LANES_WITH_NUMBERS(<=)
LS_LANES_WITH_NUMBERS(>=)
LS_LANES_WITH_NUMBERS(==)
LS_LANES_WITH_NUMBERS(!=)
#undef LS_LANES_WITH_NUMBERS

// The functions that vector_math.h uses, see there.
Lanes fma(Lanes a, Lanes b, Lanes c);
Lanes select(Lanes condition, Lanes a, Lanes b);
Lanes absolute(Lanes x);
Lanes copy_sign(Lanes magnitude, Lanes sign);
Lanes square_root(Lanes x);
Lanes round_down(Lanes x);
Lanes bits_of(Lanes x);
Lanes float_of_bits(Lanes x);
Lanes to_float(Lanes x);   ///< i32 -> f32
Lanes to_wide(Lanes x);    ///< f32 -> f64
Lanes to_narrow(Lanes x);  ///< f64 -> f32
template <class C>
Lanes number_like(Lanes x, C c) {
  return x.like(c);
}

}  // namespace lockstep::codegen
