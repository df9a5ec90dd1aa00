// The activations that may end a product. Text of the kernel dialect.

#include "kernels/formulas/formulas.h"

// As MatmulEpilogue::Activation counts them.
template <int kActivation>
struct Activation {
  template <typename A>
  static inline A apply(A x) {
    return x;
  }
};
template <>
struct Activation<1> {
  template <typename A>
  static inline A apply(A x) {
    return formula::relu(x);
  }
};
template <>
struct Activation<2> {
  template <typename A>
  static inline A apply(A x) {
    return formula::gelu_tanh(x);
  }
};
