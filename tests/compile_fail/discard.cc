// Tensors that are computed and dropped are warned of; updates and evaluations are not.
#include "hearth/hearth.h"
#pragma GCC diagnostic error "-Wunused-result"

using namespace hearth;

void right(Tensor<2>& x, Array a, Gradients& gradients) {
  x.assign(x + 1);
  x += 1;
  x.eval();
  exp(a).eval();
  optim::clip_by_norm(gradients, 1);
}

void wrong(Tensor<2>& x, const Array& a, const nn::Linear& layer) {
  (void)x, (void)a, (void)layer;
#if MISTAKE == 1  // says: nodiscard
  x.set({0}, 1.0);
#elif MISTAKE == 2  // says: nodiscard
  x.require_grad();
#elif MISTAKE == 3  // says: nodiscard
  x.sum().backward();
#elif MISTAKE == 4  // says: nodiscard
  Tensor<2>::zeros({1, 2});
#elif MISTAKE == 5  // says: nodiscard
  x* x;
#elif MISTAKE == 6  // says: nodiscard
  layer.forward(x);
#elif MISTAKE == 7  // says: nodiscard
  exp(a);
#elif MISTAKE == 8  // says: nodiscard
  a + 1;
#elif MISTAKE == 9  // says: nodiscard
  random_normal({2});
#endif
}
