// How long the formulas of kernels/formulas/scalar_ops.h are: the operations that each does for an
// element, counted by running it, as the compiler reads it, on numbers that count.
#pragma once

#include <type_traits>

#include "devices/cpu/regions/tile_table.h"

namespace hearth::cpu {
namespace counted {

// A number, a word or a mask.
struct Number {
  int* operations = nullptr;  // null: a constant

  constexpr explicit Number(int* counter) : operations(counter) {}
  template <class A>
    requires std::is_arithmetic_v<A>
  constexpr explicit Number(A) {}
};
template <class T>
concept Counted = std::is_same_v<T, Number>;
template <class T>
concept Uncounted = false;

constexpr Number after(int operations, auto... operands) {
  int* counter = nullptr;
  for (int* each : {operands.operations...}) counter = each != nullptr ? each : counter;
  if (counter != nullptr) *counter += operations;
  return Number(counter);
}

// A vector that holds one far argument takes as long as this.
inline constexpr int kSlowPath = 60;

#define HEARTH_COUNTED_OPERATOR(token) \
  constexpr Number operator token(Number a, Number b) { return after(1, a, b); }
HEARTH_COUNTED_OPERATOR(+)
HEARTH_COUNTED_OPERATOR(-)
HEARTH_COUNTED_OPERATOR(*)
HEARTH_COUNTED_OPERATOR(/)
HEARTH_COUNTED_OPERATOR(&)
HEARTH_COUNTED_OPERATOR(|)
HEARTH_COUNTED_OPERATOR(^)
HEARTH_COUNTED_OPERATOR(==)
HEARTH_COUNTED_OPERATOR(!=)
HEARTH_COUNTED_OPERATOR(<)
HEARTH_COUNTED_OPERATOR(>)
HEARTH_COUNTED_OPERATOR(<=)
HEARTH_COUNTED_OPERATOR(>=)
#undef HEARTH_COUNTED_OPERATOR
constexpr Number operator-(Number a) { return after(1, a); }

#define HEARTH_COUNTED(name, count) \
  constexpr Number name(auto... x) { return after(count, x...); }
HEARTH_COUNTED(where, 1)
HEARTH_COUNTED(abs, 1)
HEARTH_COUNTED(sqrt, 1)
HEARTH_COUNTED(floor, 1)
HEARTH_COUNTED(ceil, 1)
HEARTH_COUNTED(rint, 1)
HEARTH_COUNTED(copysign, 1)
HEARTH_COUNTED(fma, 1)
HEARTH_COUNTED(at_most, 1)
HEARTH_COUNTED(at_least, 1)
HEARTH_COUNTED(scale, 1)
HEARTH_COUNTED(power_of_two, 1)
HEARTH_COUNTED(bits, 0)
HEARTH_COUNTED(real_of, 0)
HEARTH_COUNTED(to_real, 1)
HEARTH_COUNTED(sin_beyond, 1)
HEARTH_COUNTED(cos_beyond, 1)
HEARTH_COUNTED(remainder_beyond, kSlowPath)
#undef HEARTH_COUNTED
constexpr Number same_bits(Number, long long) { return Number(0); }
template <int kBits>
constexpr Number shift_left(Number x) {
  return after(1, x);
}
template <int kBits>
constexpr Number shift_right(Number x) {
  return after(1, x);
}

#define HEARTH_FN constexpr
#define HEARTH_ANY(T) Counted T
#define HEARTH_REAL(T) Counted T
#define HEARTH_REAL32(T) Counted T
#define HEARTH_REAL64(T) Uncounted T
#define HEARTH_INT(T) Uncounted T
#define HEARTH_INF 0.0f
#define HEARTH_NAN 0.0f
#define HEARTH_HAS_F64 0
#include "kernels/formulas/scalar_ops.h"
#undef HEARTH_FN
#undef HEARTH_ANY
#undef HEARTH_REAL
#undef HEARTH_REAL32
#undef HEARTH_REAL64
#undef HEARTH_INT
#undef HEARTH_INF
#undef HEARTH_NAN
#undef HEARTH_HAS_F64

}  // namespace counted

// Of the formula of an op, computed in f32; 1 for those of integers.
consteval int formula_length(TileOp op) {
  int length = 0;
  [[maybe_unused]] const counted::Number x(&length);
  const auto run = [x](auto formula) {
    if constexpr (requires { formula(x); }) {
      formula(x);
    } else if constexpr (requires { formula(x, x); }) {
      formula(x, x);
    } else if constexpr (requires { formula(x, x, x); }) {
      formula(x, x, x);
    }
  };
  switch (op) {
#define HEARTH_LENGTH(name)                                                              \
  case TileOp::name:                                                                     \
    run([](auto... y) -> decltype(counted::name(y...)) { return counted::name(y...); }); \
    break;
#define UNARY(name) HEARTH_LENGTH(name)
#define BINARY(name) HEARTH_LENGTH(name)
#define TERNARY(name) HEARTH_LENGTH(name)
#include "ops/op_list.def"
#undef HEARTH_LENGTH
    default:
      break;
  }
  return length > 0 ? length : 1;
}

// Formulas up to this long are bound by the loop around them, others by their own arithmetic; from
// the next on they are several times as long as an exponential.
inline constexpr int kShortFormula = 8;
inline constexpr int kLongFormula = 60;

}  // namespace hearth::cpu
