// Operators of typed tensors. Both sides have one rank and one kind, or one is a number; what else
// people write says in the first line of the compiler's message what to write instead.
#pragma once

#include <type_traits>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

namespace tensor_detail {

// The right side of an operator, which has no room for the caller's line, and that line.
template <int Rank, TensorKind K>
struct Located {
  Located(const Tensor<Rank, K>& its_tensor,
          CallSite its_site = CallSite::here())  // NOLINT(google-explicit-constructor)
      : tensor(its_tensor), site(its_site) {}

  const Tensor<Rank, K>& tensor;
  CallSite site;
};

}  // namespace tensor_detail

#define HEARTH_TENSOR_OPERATOR(symbol, function, kinds, result, instead)                          \
  template <int Rank, kinds K>                                                                    \
  Tensor<Rank, result> operator symbol(const Tensor<Rank, K>& a,                                  \
                                       std::type_identity_t<tensor_detail::Located<Rank, K>> b) { \
    return hearth::function(a, b.tensor, b.site);                                                 \
  }                                                                                               \
  HEARTH_TENSOR_OTHERS(symbol, function, kinds, result, instead)
// Both sides of one type: with another one on the right `a == b` and `b == a` would be as good.
#define HEARTH_TENSOR_EQUALITY(symbol, function)                                           \
  template <int Rank, TensorKind K>                                                        \
  Tensor<Rank, Bool> operator symbol(const Tensor<Rank, K>& a, const Tensor<Rank, K>& b) { \
    return hearth::function(a, b);                                                         \
  }                                                                                        \
  HEARTH_TENSOR_OTHERS(symbol, function, TensorKind, Bool, "")
#define HEARTH_TENSOR_OTHERS(symbol, function, kinds, result, instead)                           \
  template <int Rank, kinds K, ScalarOf<K> N>                                                    \
  Tensor<Rank, result> operator symbol(const Tensor<Rank, K>& a, N b) {                          \
    return hearth::function(a, b);                                                               \
  }                                                                                              \
  template <int Rank, kinds K, ScalarOf<K> N>                                                    \
  Tensor<Rank, result> operator symbol(N a, const Tensor<Rank, K>& b) {                          \
    return hearth::function(a, b);                                                               \
  }                                                                                              \
  /* Two ranks, two kinds, a kind or a number that the operator does not take. */                \
  template <int A, int B, TensorKind K, TensorKind L>                                            \
    requires(A != B || !std::same_as<K, L> || !kinds<K>)                                         \
  Tensor<A, K> operator symbol(const Tensor<A, K>& a, const Tensor<B, L>&) {                     \
    static_assert(A == B,                                                                        \
                  "tensors of different ranks: add axes by unsqueeze_dim(), or drop them");      \
    static_assert(std::same_as<K, L>,                                                            \
                  "tensors of different kinds: convert one by float_(), int_() or bool_()");     \
    static_assert(kinds<K>, "no such operator for this kind: " instead);                         \
    return a;                                                                                    \
  }                                                                                              \
  template <int Rank, TensorKind K, class N>                                                     \
    requires(std::is_arithmetic_v<N> && (!kinds<K> || !ScalarOf<N, K>))                          \
  Tensor<Rank, K> operator symbol(const Tensor<Rank, K>& a, N) {                                 \
    static_assert(kinds<K>, "no such operator for this kind: " instead);                         \
    static_assert(!kinds<K> || ScalarOf<N, K>,                                                   \
                  "a number of another kind than the tensor: convert the tensor by float_() or " \
                  "int_(), or write a whole number, true or false; 0 < x < 1 is "                \
                  "(0 < x) & (x < 1)");                                                          \
    return a;                                                                                    \
  }                                                                                              \
  template <int Rank, TensorKind K, class N>                                                     \
    requires(std::is_arithmetic_v<N> && (!kinds<K> || !ScalarOf<N, K>))                          \
  Tensor<Rank, K> operator symbol(N a, const Tensor<Rank, K>& b) {                               \
    return b symbol a;                                                                           \
  }
#define HEARTH_NUMERIC "bool is not a numeric kind: convert by float_() or int_()"
#define HEARTH_BOOL "it takes Bool tensors: make one by a comparison such as x != 0"
HEARTH_TENSOR_OPERATOR(+, add, NumericKind, K, HEARTH_NUMERIC)
HEARTH_TENSOR_OPERATOR(-, sub, NumericKind, K, HEARTH_NUMERIC)
HEARTH_TENSOR_OPERATOR(*, mul, NumericKind, K, HEARTH_NUMERIC)
HEARTH_TENSOR_OPERATOR(/, div, NumericKind, K, HEARTH_NUMERIC)
HEARTH_TENSOR_OPERATOR(%, remainder, NumericKind, K, HEARTH_NUMERIC)
HEARTH_TENSOR_EQUALITY(==, equal)
HEARTH_TENSOR_EQUALITY(!=, not_equal)
HEARTH_TENSOR_OPERATOR(<, less, TensorKind, Bool, "")
HEARTH_TENSOR_OPERATOR(<=, less_equal, TensorKind, Bool, "")
HEARTH_TENSOR_OPERATOR(>, greater, TensorKind, Bool, "")
HEARTH_TENSOR_OPERATOR(>=, greater_equal, TensorKind, Bool, "")
HEARTH_TENSOR_OPERATOR(&, logical_and, BoolKind, Bool, HEARTH_BOOL)
HEARTH_TENSOR_OPERATOR(|, logical_or, BoolKind, Bool, HEARTH_BOOL)
HEARTH_TENSOR_OPERATOR(^, logical_xor, BoolKind, Bool,
                       HEARTH_BOOL "; a power is x.powi(2) or x.powf(0.5)")
#undef HEARTH_BOOL
#undef HEARTH_NUMERIC
#undef HEARTH_TENSOR_EQUALITY
#undef HEARTH_TENSOR_OTHERS
#undef HEARTH_TENSOR_OPERATOR

template <int Rank, TensorKind K>
Tensor<Rank, K> operator-(const Tensor<Rank, K>& x) {
  static_assert(NumericKind<K>, "bool is not a numeric kind: write !mask, or int_() for 0 and 1");
  if constexpr (NumericKind<K>) {
    return x.neg();
  } else {
    return x;
  }
}

template <int Rank, TensorKind K>
Tensor<Rank, Bool> operator!(const Tensor<Rank, K>& x) {
  static_assert(BoolKind<K>, "! and ~ take Bool tensors: write x == 0");
  if constexpr (BoolKind<K>) {
    return x.bool_not();
  } else {
    return {};
  }
}

// As NumPy writes !mask.
template <int Rank, TensorKind K>
Tensor<Rank, Bool> operator~(const Tensor<Rank, K>& x) {
  return !x;
}

#define HEARTH_TENSOR_NO_SHORTCUT(symbol, instead)                                                \
  template <int A, TensorKind K, int B, TensorKind L>                                             \
  Tensor<A, Bool> operator symbol(const Tensor<A, K>&, const Tensor<B, L>&) {                     \
    static_assert(tensor_detail::kNever<K>,                                                       \
                  "a " #symbol " b asks for one answer: write a " instead " b for each element"); \
    return {};                                                                                    \
  }
HEARTH_TENSOR_NO_SHORTCUT(&&, "&")
HEARTH_TENSOR_NO_SHORTCUT(||, "|")
#undef HEARTH_TENSOR_NO_SHORTCUT

}  // namespace v0
}  // namespace hearth
