#include "hearth/hearth.h"

using namespace hearth;

void right(const Tensor<2>& x, const Tensor<2, Int>& i, const Tensor<2, Bool>& b) {
  const Tensor<2> e = x.exp();
  const Tensor<2, Int> shifted = i + 1;
  const Tensor<2> scaled = x * 2;
  const Tensor<2, Bool> larger = x.greater(0.5);
  const Tensor<2> masked = x.mask_fill(b, 0.0);
  const Tensor<2> picked = x.gather(0, i);
  const Tensor<2> converted = i.float_();
  const Tensor<2, Bool> both = b.bool_and(larger);
  const Tensor<2, Int> best = x.argmax(1);
  const Tensor<2> shorter = exp(x);
  const Tensor<2, Bool> smaller = less(i, 2);
  const Tensor<1> total = sum(x);
}

void wrong(const Tensor<2>& x, const Tensor<2, Int>& i, const Tensor<2, Bool>& b) {
  (void)x, (void)i, (void)b;
#if MISTAKE == 1
  x + i;
#elif MISTAKE == 2
  i.exp();
#elif MISTAKE == 3
  i + 0.5;
#elif MISTAKE == 4
  b + b;
#elif MISTAKE == 5
  x.mask_fill(i, 0.0);
#elif MISTAKE == 6
  x.gather(0, x);
#elif MISTAKE == 7
  i.require_grad();
#elif MISTAKE == 8
  i.backward();
#elif MISTAKE == 9
  x.bool_not();
#elif MISTAKE == 10
  const Tensor<2> mask = x.greater(0.5);
#elif MISTAKE == 11
  const Tensor<2> best = x.argmax(1);
#elif MISTAKE == 12
  activation::softmax(i, 1);
#elif MISTAKE == 13
  x.matmul(i);
#elif MISTAKE == 14
  b.sum();
#elif MISTAKE == 15
  x.mul(true);
#elif MISTAKE == 16
  const Tensor<2, Int> same = x;
#elif MISTAKE == 17
  Tensor<2, float>::zeros({2, 2});
#elif MISTAKE == 18
  Tensor<1, Int>::from_data(std::vector<float>{1}, {1});
#elif MISTAKE == 19
  i.clamp(0.5, 1.5);
#elif MISTAKE == 20
  exp(i);
#elif MISTAKE == 21
  where(x, x, x);
#elif MISTAKE == 22
  maximum(x, i);
#elif MISTAKE == 23  // says: deleted function
  arange(0, 3, 1.5);
#elif MISTAKE == 24  // says: deleted function
  arange(0, 2.5);
#elif MISTAKE == 25  // says: deleted function
  Tensor<1, Int>::arange(0, 2.9);
#elif MISTAKE == 26  // says: deleted function
  Tensor<1, Int>::arange_step(0, 3, 0.5F);
#endif
}
