// Operators of typed tensors. Both sides have one rank and one kind, or one is a number; what else
// people write says in the first line of the compiler's message what to write instead.
#pragma once

#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

#define HEARTH_TENSOR_OPERATOR(symbol, method, function, kinds, result)                      \
  template <int Rank, kinds K>                                                               \
  Tensor<Rank, result> operator symbol(const Tensor<Rank, K>& a, const Tensor<Rank, K>& b) { \
    return a.method(b);                                                                      \
  }                                                                                          \
  template <int Rank, kinds K, ScalarOf<K> N>                                                \
  Tensor<Rank, result> operator symbol(const Tensor<Rank, K>& a, N b) {                      \
    return a.method(b);                                                                      \
  }                                                                                          \
  template <int Rank, kinds K, ScalarOf<K> N>                                                \
  Tensor<Rank, result> operator symbol(N a, const Tensor<Rank, K>& b) {                      \
    return Tensor<Rank, result>(hearth::function(tensor_detail::scalar(a), b.array()));      \
  }                                                                                          \
  HEARTH_TENSOR_MISTAKES(symbol)
// Two ranks, two kinds.
#define HEARTH_TENSOR_MISTAKES(symbol)                                                       \
  template <int A, int B, TensorKind K, TensorKind L>                                        \
    requires(A != B || !std::same_as<K, L>)                                                  \
  Tensor<A, K> operator symbol(const Tensor<A, K>& a, const Tensor<B, L>&) {                 \
    static_assert(A == B,                                                                    \
                  "tensors of different ranks: add axes by unsqueeze_dim(), or drop them");  \
    static_assert(std::same_as<K, L>,                                                        \
                  "tensors of different kinds: convert one by float_(), int_() or bool_()"); \
    return a;                                                                                \
  }
HEARTH_TENSOR_OPERATOR(+, add, add, NumericKind, K)
HEARTH_TENSOR_OPERATOR(-, sub, sub, NumericKind, K)
HEARTH_TENSOR_OPERATOR(*, mul, mul, NumericKind, K)
HEARTH_TENSOR_OPERATOR(/, div, div, NumericKind, K)
HEARTH_TENSOR_OPERATOR(%, remainder, remainder, NumericKind, K)
HEARTH_TENSOR_OPERATOR(==, equal, equal, TensorKind, Bool)
HEARTH_TENSOR_OPERATOR(!=, not_equal, not_equal, TensorKind, Bool)
HEARTH_TENSOR_OPERATOR(<, lower, less, TensorKind, Bool)
HEARTH_TENSOR_OPERATOR(<=, lower_equal, less_equal, TensorKind, Bool)
HEARTH_TENSOR_OPERATOR(>, greater, greater, TensorKind, Bool)
HEARTH_TENSOR_OPERATOR(>=, greater_equal, greater_equal, TensorKind, Bool)
#undef HEARTH_TENSOR_OPERATOR
HEARTH_TENSOR_MISTAKES(&)
HEARTH_TENSOR_MISTAKES(|)
HEARTH_TENSOR_MISTAKES(^)
#undef HEARTH_TENSOR_MISTAKES

template <int Rank, NumericKind K>
Tensor<Rank, K> operator-(const Tensor<Rank, K>& x) {
  return x.neg();
}

template <int Rank>
Tensor<Rank, Bool> operator&(const Tensor<Rank, Bool>& a, const Tensor<Rank, Bool>& b) {
  return a.bool_and(b);
}
template <int Rank>
Tensor<Rank, Bool> operator|(const Tensor<Rank, Bool>& a, const Tensor<Rank, Bool>& b) {
  return a.bool_or(b);
}
template <int Rank>
Tensor<Rank, Bool> operator^(const Tensor<Rank, Bool>& a, const Tensor<Rank, Bool>& b) {
  return a.bool_xor(b);
}
template <int Rank>
Tensor<Rank, Bool> operator!(const Tensor<Rank, Bool>& x) {
  return x.bool_not();
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
