// Evenly spaced numbers and grids.
#include "check.h"

namespace hearth {
namespace {

using namespace check;

TEST(Grid, Linspace) {
  expect_values(linspace(0, 1, 4, DType::f64), {4}, {0, 1.0 / 3, 2.0 / 3, 1});
  expect_values(linspace(2, -1, 7), {7}, {2, 1.5, 1, 0.5, 0, -0.5, -1});
  expect_values(linspace(3, 9, 1), {1}, {3});
  expect_values(linspace(3, 9, 0), {0}, {});
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Values all = linspace(0.1, 0.7, 1000, dtype).to_doubles();
    EXPECT_EQ(all.front(), array({0.1}, {1}, dtype).to_doubles()[0]);
    EXPECT_EQ(all.back(), array({0.7}, {1}, dtype).to_doubles()[0]);
  }
  expect_error(ErrorCode::shape, [] { (void)linspace(0, 1, -1); });
  expect_error(ErrorCode::dtype, [] { (void)linspace(0, 1, 3, DType::i64); });
}

TEST(Grid, Meshgrid) {
  const Array x = array({1, 2}, {2}), y = array({3, 4, 5}, {3});
  const std::vector<Array> matrix = meshgrid({x, y});
  ASSERT_EQ(matrix.size(), 2u);
  expect_values(matrix[0], {2, 3}, {1, 1, 1, 2, 2, 2});
  expect_values(matrix[1], {2, 3}, {3, 4, 5, 3, 4, 5});
  const std::vector<Array> cartesian = meshgrid({x, y}, GridIndexing::cartesian);
  expect_values(cartesian[0], {3, 2}, {1, 2, 1, 2, 1, 2});
  expect_values(cartesian[1], {3, 2}, {3, 3, 4, 4, 5, 5});
  expect_values(meshgrid({x}, GridIndexing::cartesian)[0], {2}, {1, 2});
  const std::vector<Array> deep = meshgrid({x, y, x}, GridIndexing::cartesian);
  expect_values(deep[2], {3, 2, 2}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  expect_values(meshgrid({x, zeros({0}, DType::f64)})[1], {2, 0}, {});
  expect_values(meshgrid({x, ones({2}, DType::bool_)})[1], {2, 2}, {1, 1, 1, 1});
  expect_error(ErrorCode::invalid_argument, [] { (void)meshgrid(std::vector<Array>()); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)meshgrid(std::vector<Array>(9, x)); });
  expect_error(ErrorCode::shape, [&] { (void)meshgrid({x, zeros({2, 2})}); });
  check_gradients([](std::span<const Array> in) { return meshgrid({in[0], in[1]})[1]; }, {x, y});
}

TEST(Grid, CartesianGrid) {
  const Array grid = cartesian_grid({2, 3});
  EXPECT_EQ(grid.dtype(), DType::i64);
  expect_values(grid, {2, 3, 2}, {0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2});
  expect_values(cartesian_grid({3}, DType::i32), {3, 1}, {0, 1, 2});
  expect_values(cartesian_grid({0, 2}), {0, 2, 2}, {});
  expect_error(ErrorCode::shape, [] { (void)cartesian_grid({}); });
  expect_error(ErrorCode::shape, [] { (void)cartesian_grid({1, 1, 1, 1, 1, 1, 1, 1}); });
  expect_error(ErrorCode::shape, [] { (void)cartesian_grid({-1}); });
}

TEST(Grid, Empty) {
  EXPECT_EQ(empty({2, 3}, DType::f16).shape(), (Shape{2, 3}));
  EXPECT_EQ(empty({2, 3}, DType::f16).dtype(), DType::f16);
  EXPECT_EQ(empty_like(ones({2}, DType::bool_)).dtype(), DType::bool_);
  expect_error(ErrorCode::shape, [] { (void)empty({-1}); });
}

}  // namespace
}  // namespace hearth
