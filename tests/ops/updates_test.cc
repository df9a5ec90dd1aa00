// take, one_hot_fill, updates by index and indices of several axes.
#include "check.h"

namespace hearth {
namespace {

using namespace check;

constexpr IndexingUpdateOp kUpdates[] = {IndexingUpdateOp::assign, IndexingUpdateOp::add,
                                         IndexingUpdateOp::mul, IndexingUpdateOp::min,
                                         IndexingUpdateOp::max};

double updated(double x, double value, IndexingUpdateOp update) {
  switch (update) {
    case IndexingUpdateOp::assign:
      return value;
    case IndexingUpdateOp::add:
      return x + value;
    case IndexingUpdateOp::mul:
      return x * value;
    case IndexingUpdateOp::min:
      return std::min(x, value);
    case IndexingUpdateOp::max:
      break;
  }
  return std::max(x, value);
}

TEST(Updates, Take) {
  const Array x = array({0, 1, 2, 3, 4, 5}, {2, 3});
  expect_values(take(x, ints({2, 0, 1, 1}, {2, 2}), 1), {2, 2, 2}, {2, 0, 1, 1, 5, 3, 4, 4});
  expect_values(take(x, ints({1}, {1, 1}), 0), {1, 1, 3}, {3, 4, 5});
  expect_values(take(x, ints({1}, {}), -1), {2}, {1, 4});
  expect_values(take(transpose(x), transpose(ints({2, 0, 1, 1}, {2, 2})), 0), {2, 2, 2},
                {2, 5, 1, 4, 0, 3, 1, 4});
  expect_values(take(x, ints({}, {0, 2}), 0), {0, 2, 3}, {});
  expect_values(take(cast(x, DType::bool_), cast(ints({0, 1}, {2}), DType::i32), 1), {2, 2},
                {0, 1, 1, 1});
  check_gradients(
      [](std::span<const Array> in) { return take(in[0], ints({2, 0, 1, 1}, {2, 2}), 1); }, {x});
  expect_error(ErrorCode::dtype, [&] { (void)take(x, x, 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)take(x, ints({0}, {1}), 2); });
  expect_error(ErrorCode::shape,
               [&] { (void)take(x, zeros({1, 1, 1, 1, 1, 1, 1, 1}, DType::i64), 0); });
}

TEST(Updates, OneHotFill) {
  const Array ids = ints({1, 0, 5}, {3});
  expect_values(one_hot_fill(ids, 2, 5, -1), {3, 2}, {-1, 5, 5, -1, -1, -1});
  expect_values(one_hot_fill(ids, 2, 5, -1, 0, DType::i32), {2, 3}, {-1, 5, -1, 5, -1, -1});
  expect_values(one_hot_fill(ids, 2, kInf, 0.5, -2, DType::f64), {2, 3},
                {0.5, kInf, 0.5, kInf, 0.5, 0.5});
  expect_error(ErrorCode::dtype, [&] { (void)one_hot_fill(ids, 2, 0.5, 0, -1, DType::i32); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)one_hot_fill(ids, 2, 1, 0, 2); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)one_hot_fill(ids, -1, 1, 0); });
}

TEST(Updates, SelectAssign) {
  const Values base = {1, -2, 3, -4, 5, -6, 7, -8}, values = {10, -20, 0.5, 2};
  for (const DType dtype : {DType::f64, DType::f16, DType::i32}) {
    const Array x = array(base, {4, 2}, dtype), v = array(values, {2, 2}, dtype);
    for (const IndexingUpdateOp update : kUpdates) {
      Values expected = x.to_doubles();
      const Values given = v.to_doubles();
      for (std::size_t i = 0; i < 2; ++i) {
        expected[6 + i] = updated(expected[6 + i], given[i], update);      // row 3
        expected[2 + i] = updated(expected[2 + i], given[2 + i], update);  // row 1
      }
      expect_values(select_assign(x, ints({3, 1}, {2}), v, 0, update), {4, 2}, expected);
      const Array other = select_assign(transpose(x), cast(ints({3, 1}, {2}), DType::i32),
                                        transpose(v), -1, update);
      expect_values(transpose(other), {4, 2}, expected);
    }
  }
  const Array flags = array({1, 0, 1}, {3}, DType::bool_);
  expect_values(select_assign(flags, ints({0, 1}, {2}), array({0, 1}, {2}, DType::bool_), 0,
                              IndexingUpdateOp::assign),
                {3}, {0, 1, 1});
  const Array x = array({1, kNan, kInf}, {3});
  expect_values(select_assign(x, ints({1}, {1}), array({2}, {1}), 0, IndexingUpdateOp::assign), {3},
                {1, 2, kInf});
  expect_values(select_assign(x, ints({1}, {1}), array({2}, {1}), 0, IndexingUpdateOp::max), {3},
                {1, kNan, kInf});
  for (const IndexingUpdateOp update : kUpdates) {
    expect_values(select_assign(x, ints({}, {0}), zeros({0}, DType::f64), 0, update), {3},
                  {1, kNan, kInf});
  }
}

TEST(Updates, Scatter) {
  const Values base = {1, -2, 3, -4, 5, -6}, values = {10, -20, 0.5, 2};
  const std::vector<std::int64_t> places = {2, 0, 1, 2};
  for (const DType dtype : {DType::f64, DType::bf16, DType::i64}) {
    const Array x = array(base, {2, 3}, dtype), v = array(values, {2, 2}, dtype);
    const Array indices = ints(places, {2, 2});
    for (const IndexingUpdateOp update : kUpdates) {
      Values expected = x.to_doubles();
      const Values given = v.to_doubles();
      for (std::size_t i = 0; i < 4; ++i) {
        double& place = expected[i / 2 * 3 + static_cast<std::size_t>(places[i])];
        place = updated(place, given[i], update);
      }
      expect_values(scatter(x, indices, v, 1, update), {2, 3}, expected);
      const Array other = scatter(transpose(x), transpose(indices), transpose(v), 0, update);
      expect_values(transpose(other), {2, 3}, expected);
      // Values need not reach over the other axes.
      Values first_row = x.to_doubles();
      for (std::size_t i = 0; i < 2; ++i) {
        double& place = first_row[static_cast<std::size_t>(places[i])];
        place = updated(place, given[i], update);
      }
      expect_values(scatter(x, ints({2, 0}, {1, 2}), narrow(v, 0, 0, 1), 1, update), {2, 3},
                    first_row);
    }
  }
  const Array x = array(base, {2, 3});
  expect_values(scatter(x, ints({}, {2, 0}), zeros({2, 0}, DType::f64), 1, IndexingUpdateOp::mul),
                {2, 3}, base);
}

TEST(Updates, GatherNd) {
  const Array x = array({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 2, 3});
  expect_values(gather_nd(x, ints({1, 0, 2, 0, 1, 0}, {2, 3})), {2}, {8, 3});
  expect_values(gather_nd(x, ints({1, 0, 0, 1}, {2, 2})), {2, 3}, {6, 7, 8, 3, 4, 5});
  expect_values(gather_nd(x, ints({1}, {1, 1})), {1, 2, 3}, {6, 7, 8, 9, 10, 11});
  expect_values(gather_nd(x, ints({1, 1, 2}, {3})), {}, {11});
  expect_values(gather_nd(x, ints({}, {2, 0})), {2, 2, 2, 3},
                {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  expect_values(gather_nd(x, ints({}, {0, 2})), {0, 3}, {});
  expect_values(gather_nd(permute(x, {2, 0, 1}), cast(ints({2, 1}, {1, 2}), DType::i32)), {1, 2},
                {8, 11});
  check_gradients(
      [](std::span<const Array> in) { return gather_nd(in[0], ints({1, 0, 1, 0}, {2, 2})); },
      {random_array({2, 2, 3})});
  expect_error(ErrorCode::shape, [&] { (void)gather_nd(x, ints({0, 0, 0, 0}, {1, 4})); });
  expect_error(ErrorCode::shape, [&] { (void)gather_nd(x, ints({0}, {})); });
  expect_error(ErrorCode::dtype, [&] { (void)gather_nd(x, x); });
}

TEST(Updates, ScatterNd) {
  const Array x = array({1, 2, 3, 4, 5, 6}, {3, 2});
  const Array points = ints({2, 0, 0, 1}, {2, 2}), v = array({-3, 0.5}, {2});
  for (const IndexingUpdateOp update : kUpdates) {
    Values expected = x.to_doubles();
    expected[4] = updated(expected[4], -3, update);
    expected[1] = updated(expected[1], 0.5, update);
    expect_values(scatter_nd(x, points, v, update), {3, 2}, expected);
  }
  expect_values(scatter_nd(x, ints({1, 0}, {2, 1}), array({7, 8, 9, 10}, {2, 2})), {3, 2},
                {9, 10, 7, 8, 5, 6});
  expect_values(
      scatter_nd(x, ints({1, 1}, {2, 1}), array({7, 8, 9, 10}, {2, 2}), IndexingUpdateOp::add),
      {3, 2}, {1, 2, 19, 22, 5, 6});
  expect_values(scatter_nd(x, ints({}, {0, 1}), zeros({0, 2}, DType::f64)), {3, 2},
                {1, 2, 3, 4, 5, 6});
  expect_error(ErrorCode::shape, [&] { (void)scatter_nd(x, points, array({1}, {1})); });
  expect_error(ErrorCode::dtype, [&] { (void)scatter_nd(x, points, cast(v, DType::f32)); });
}

TEST(Updates, Gradients) {
  const Array x = random_array({3, 2}, DType::f64, 0.5, 1);
  const Array v = random_array({2, 2}, DType::f64, 0.4, 1.1, 9);
  for (const IndexingUpdateOp update : kUpdates) {
    check_second_gradients(
        [&](std::span<const Array> in) {
          return square(select_assign(in[0], ints({2, 0}, {2}), in[1], 0, update));
        },
        {x, v});
    check_gradients(
        [&](std::span<const Array> in) {
          return scatter(in[0], ints({2, 0, 0, 1}, {2, 2}), in[1], 0, update);
        },
        {x, v});
    check_gradients(
        [&](std::span<const Array> in) {
          return scatter_nd(in[0], ints({2, 0}, {2, 1}), in[1], update);
        },
        {x, v});
  }
}

TEST(Updates, WrongArgumentsAreErrors) {
  const Array x = zeros({3, 2}), v = zeros({2, 2});
  const Array flags = zeros({3, 2}, DType::bool_), more = zeros({2, 2}, DType::bool_);
  const Array rows = ints({0, 1}, {2}), places = ints({0, 1, 1, 0}, {2, 2});
  for (const IndexingUpdateOp update : kUpdates) {
    expect_error(ErrorCode::shape, [&] { (void)select_assign(x, rows, zeros({3, 2}), 0, update); });
    expect_error(ErrorCode::dtype, [&] { (void)select_assign(x, rows, more, 0, update); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)select_assign(x, rows, v, 2, update); });
    expect_error(ErrorCode::shape, [&] { (void)scatter(x, places, zeros({2, 1}), 0, update); });
    expect_error(ErrorCode::dtype, [&] { (void)scatter(x, places, more, 0, update); });
    expect_error(ErrorCode::dtype, [&] { (void)scatter(x, v, v, 0, update); });
  }
  expect_error(ErrorCode::dtype,
               [&] { (void)select_assign(flags, rows, more, 0, IndexingUpdateOp::mul); });
  expect_error(ErrorCode::dtype,
               [&] { (void)scatter(flags, places, more, 0, IndexingUpdateOp::min); });
}

}  // namespace
}  // namespace hearth
