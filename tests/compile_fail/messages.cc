// Each mistake's first error says what to write instead.
#include "hearth/hearth.h"

using namespace hearth;

struct NoMembers {
  nn::Linear layer{1, 1};
};

void wrong(Tensor<2>& x, const Tensor<1>& v, const Tensor<2, Int>& i, const Tensor<2, Bool>& b) {
  (void)x, (void)v, (void)i, (void)b;
#if MISTAKE == 1  // says: different ranks: add axes by unsqueeze_dim()
  (void)(x + v);
#elif MISTAKE == 2   // says: different ranks
  x += v;
#elif MISTAKE == 3   // says: different kinds: convert one by float_()
  (void)(x * i);
#elif MISTAKE == 4   // says: different ranks
  (void)(x < v);
#elif MISTAKE == 5   // says: not a condition: reduce it by any() or all()
  if (x > 0) return;
#elif MISTAKE == 6   // says: write x = x.set({i}, v)
  x[0][1] = 3.0;
#elif MISTAKE == 7   // says: write x = x.set({i}, v)
  x[0] = v;
#elif MISTAKE == 8   // says: write a & b for each element
  (void)(b && b);
#elif MISTAKE == 9   // says: write a | b for each element
  (void)((x > 0) || b);
#elif MISTAKE == 10  // says: a module lists its parameters
  NoMembers module;
  parameters(module);
#elif MISTAKE == 11  // says: different kinds
  (void)(b & i);
#elif MISTAKE == 12  // says: a variable keeps its rank and kind
  x = v;
#elif MISTAKE == 13  // says: a variable keeps its rank and kind
  x = x > 0;
#elif MISTAKE == 14  // says: write a & b for each element
  auto both = b && b;
#elif MISTAKE == 15  // says: a range of tensors holds copies
  std::vector<Tensor<1>> copies{v, v};
  optim::Sgd().step(copies, Gradients(), 0.1);
#elif MISTAKE == 16  // says: a range of tensors holds copies
  optim::Sgd().step(std::vector<Array>{v.array()}, Gradients(), 0.1);
#elif MISTAKE == 17  // says: a temporary module is dropped
  optim::Sgd().step(nn::Linear(1, 1), Gradients(), 0.1);
#elif MISTAKE == 18  // says: set() takes one list of positions
  x = x.set({{0, 1}, {1, 0}}, 0.0);
#elif MISTAKE == 19  // says: select_assign() adds at the positions of a tensor
  x = x.set(i[0], 0.0);
#elif MISTAKE == 20  // says: a number of another kind than the tensor
  (void)(i + 0.5);
#elif MISTAKE == 21  // says: a number of another kind than the tensor
  (void)(0.5 < i);
#elif MISTAKE == 22  // says: no such operator for this kind
  (void)(b + b);
#elif MISTAKE == 23  // says: no such operator for this kind
  (void)(x & x);
#elif MISTAKE == 24  // says: sum() is over everything: write sum_dim(1)
  (void)x.sum(1);
#elif MISTAKE == 25  // says: max() is over everything: write max_dim(1)
  (void)x.max({0, 1});
#elif MISTAKE == 26  // says: mean() is over everything: write mean_dim(1)
  (void)x.mean(0);
#elif MISTAKE == 27  // says: write int_().sum()
  (void)(x > 2).sum();
#elif MISTAKE == 28  // says: write x = x.set({i}, x[i] + v)
  x[0] += 1.0;
#elif MISTAKE == 29  // says: a mask picks a number of elements
  (void)x[b];
#elif MISTAKE == 30  // says: more words than the tensor has dimensions
  (void)x.slice(0, 1, 2);
#elif MISTAKE == 31  // says: a power is x.powi(2)
  (void)(x ^ 2);
#elif MISTAKE == 32  // says: not a numeric kind: write !mask
  (void)-b;
#elif MISTAKE == 33  // says: ! and ~ take Bool tensors: write x == 0
  (void)!x;
#elif MISTAKE == 34  // says: not a numeric kind: convert by float_()
  (void)(1 + b);
#elif MISTAKE == 35  // says: write float_().mean()
  (void)b.mean();
#elif MISTAKE == 36  // says: write int_().sum_dim(0)
  (void)b.sum_dim(1);
#elif MISTAKE == 37  // says: slices are words
  (void)x["0:1"];
#elif MISTAKE == 38  // says: label_smoothing is the fourth
  (void)cross_entropy(x, i[0], 0.1);
#elif MISTAKE == 39  // says: targets of one rank less
  (void)cross_entropy(x, i);
#elif MISTAKE == 40  // says: say the dimension, squeeze(1)
  (void)x.squeeze();
#elif MISTAKE == 41  // says: powi(2) of whole numbers
  (void)x.pow(2);
#elif MISTAKE == 42  // says: write random({5}, Uniform(0, 10))
  (void)Tensor<1, Int>::random({5});
#elif MISTAKE == 43  // says: (0 < x) & (x < 1)
  (void)(0 < x < 1);
#elif MISTAKE == 44  // says: write swap_dims(0, 1)
  (void)x.transpose(0, 1);
#elif MISTAKE == 45  // says: mean_dim(1)
  (void)x.mean(1, true);
#elif MISTAKE == 46  // says: flatten<1>(0, -1)
  (void)x.flatten();
#elif MISTAKE == 47  // says: a tensor is not a number: read its only element by item()
  const double first = x[0][1];
  (void)first;
#elif MISTAKE == 48  // says: exp() takes Float tensors: write float_().exp()
  (void)i.exp();
#elif MISTAKE == 49  // says: exp() takes Float tensors
  (void)exp(i);
#elif MISTAKE == 50  // says: softmax() takes Float tensors
  (void)i.softmax(1);
#elif MISTAKE == 51  // says: sum() is over everything: write sum_dim(1)
  (void)sum(x, 1);
#elif MISTAKE == 52  // says: write maximum(a, b)
  (void)max(x, x);
#elif MISTAKE == 53  // says: write to_data<float>()
  (void)x.to_data();
#elif MISTAKE == 54  // says: an optimizer is made of options alone
  nn::Linear layer(1, 1);
  optim::AdamW optimizer(parameters(layer), 1e-3);
#elif MISTAKE == 55  // says: an optimizer is made of options alone
  optim::Sgd optimizer(0.1);
#elif MISTAKE == 56  // says: a const module keeps its values
  const nn::Linear layer(1, 1);
  optim::Sgd().step(layer, Gradients(), 0.1);
#elif MISTAKE == 57  // says: sum() is over everything
  (void)sum(x, {0});
#elif MISTAKE == 58  // says: a layer is applied by forward()
  nn::Linear(2, 3)(x);
#elif MISTAKE == 59  // says: a layer is applied by forward()
  nn::Dropout{0.5}(x);
#elif MISTAKE == 60  // says: write Linear(3, 4, {.bias = false})
  const nn::Linear layer(3, 4, false);
#elif MISTAKE == 61  // says: mean() is over everything: write mean_dim(1)
  (void)mean(x, 1);
#elif MISTAKE == 62  // says: mean() is over everything
  (void)mean(x, {0, 1});
#elif MISTAKE == 63  // says: say the dimension: softmax(x, -1)
  (void)softmax(x);
#elif MISTAKE == 64  // says: say the dimension: topk(x, 3, -1)
  (void)topk(x, 1);
#endif
}
