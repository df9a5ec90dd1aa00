#include "hearth/hearth.h"

using namespace hearth;

void right(const Tensor<1>& vector, const Tensor<2>& matrix, const Tensor<3>& block) {
  const Tensor<2> sum = matrix + matrix;
  const Tensor<2> product = matrix.matmul(matrix);
  const Tensor<1> total = matrix.sum();
  const Tensor<2> rows = matrix.sum_dim(1);
  const Tensor<1> flat = matrix.reshape({-1});
  const Tensor<2> dropped = block.squeeze_dim(0);
  const Tensor<3> grown = matrix.unsqueeze_dim(0);
  const Tensor<2> cut = matrix.slice({{0, 1}, {0, 1}});
  const Tensor<3> stacked = Tensor<2>::stack({matrix, matrix}, 0);
  const Tensor<3> wide = matrix.expand({2, -1, -1});
  const Tensor<2> zeros = Tensor<2>::zeros({2, 3});
  const Tensor<1> dot = vector.dot(vector);
}

void wrong(const Tensor<1>& vector, const Tensor<2>& matrix, const Tensor<3>& block) {
  (void)vector, (void)matrix, (void)block;
#if MISTAKE == 1
  matrix + vector;
#elif MISTAKE == 2
  matrix.matmul(block);
#elif MISTAKE == 3
  vector.matmul(vector);
#elif MISTAKE == 4
  const Tensor<2> total = matrix.sum();
#elif MISTAKE == 5
  const Tensor<1> row = matrix.sum_dim(1);
#elif MISTAKE == 6
  const Tensor<2> flat = matrix.reshape({-1});
#elif MISTAKE == 7
  const Tensor<3> same = block.squeeze_dim(0);
#elif MISTAKE == 8
  vector.squeeze_dim(0);
#elif MISTAKE == 9
  matrix.slice({{0, 1}, {0, 1}, {0, 1}});
#elif MISTAKE == 10
  Tensor<2>::zeros({2, 3, 4});
#elif MISTAKE == 11
  Tensor<2>::zeros({2});
#elif MISTAKE == 12
  block.expand({2, 3});
#elif MISTAKE == 13
  Tensor<9>::zeros({1, 1, 1, 1, 1, 1, 1, 1, 1});
#elif MISTAKE == 14
  const Tensor<2> stacked = Tensor<2>::stack({matrix, matrix}, 0);
#elif MISTAKE == 15
  vector.transpose();
#elif MISTAKE == 16
  Tensor<2>::cat({matrix, block}, 0);
#elif MISTAKE == 17
  matrix.greater(vector);
#elif MISTAKE == 18
  matrix.permute({0, 1, 2});
#elif MISTAKE == 19
  matrix.flatten<3>(0, 1);
#elif MISTAKE == 20
  Tensor<1>::from_data({{1, 2}, {3, 4}});
#endif
}
