// Arrays, typed tensors, laziness and gradients, in one screen.
#include <iostream>

#include "hearth/hearth.h"

using namespace hearth;

int main() {
  // Recorded, not computed: the two ops become one fused kernel when the value is read.
  const auto a = Tensor<2>::from_data({{1, 2}, {3, 4}});
  const auto b = (a * 2.0 + 1.0).exp().log();
  std::cout << "2a + 1 = " << b << "\n";

  // Ranks and kinds are types: the largest of each row, and where it is.
  const auto [largest, where] = a.max_dim_with_indices(1);
  const Tensor<1, Int> columns = where.squeeze_dim(1);
  std::cout << "largest of each row: " << largest << " in columns " << columns << "\n";

  // Gradients are tensors like any other.
  const auto w = Tensor<2>::from_data({{0.5, -1}, {2, 0}}).require_grad();
  const auto loss = a.matmul(w).square().mean();
  const Gradients gradients = loss.backward();
  std::cout << "loss = " << loss.item() << ", gradient = " << *w.grad(gradients) << "\n";

  // The same without types, for code that learns ranks at run time.
  const Array x = Array::from_data(std::vector<float>{3, 4}, {2});
  std::cout << "norm = " << sqrt(sum(square(x))).item() << "\n";

  // What cannot be, is refused on the line that says it.
  try {
    const auto wrong = a + Tensor<2>::zeros({3, 3});
    std::cout << wrong;
    return 1;
  } catch (const Error& error) {
    std::cout << "refused: " << error.what() << "\n";
  }
  return 0;
}
