// take, one_hot_fill, updates by index and indices of several axes.
#include "check.h"
#include "devices_under_test.h"

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

// Powers of two, so that products are exact; truth values.
Array factors(const Shape& shape, DType dtype, std::uint64_t seed) {
  Values values = random_values(element_count(shape), 0, 6, seed);
  for (double& value : values) {
    constexpr double kFactors[] = {1, -1, 2, 0.5, -0.5, -1}, kWhole[] = {1, -1, 2, -1, 1, 0};
    const auto drawn = static_cast<std::size_t>(value);
    value = is_bool(dtype) ? drawn % 2 : is_int(dtype) ? kWhole[drawn] : kFactors[drawn];
  }
  return array(values, shape, dtype);
}

// What the update makes of x, value by value.
Values one_by_one(const Array& x, const Array& indices, const Array& values, int axis,
                  IndexingUpdateOp update) {
  Values out = x.to_doubles();
  const Values given = values.to_doubles();
  const std::vector<std::int64_t> at = indices.to_vector<std::int64_t>();
  const std::int64_t extent = x.shape()[axis], count = values.shape()[axis];
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.shape()[i];
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto linear = static_cast<std::int64_t>(i);
    const std::int64_t position = linear / inner % count, outer = linear / inner / count;
    const bool is_list = indices.rank() < x.rank();
    const std::int64_t place = at[is_list ? static_cast<std::size_t>(position) : i];
    if (place < 0 || place >= extent) continue;
    double& sum = out[static_cast<std::size_t>((outer * extent + place) * inner + linear % inner)];
    sum = updated(sum, given[i], update);
    if (is_bool(x.dtype())) sum = sum != 0;
  }
  return array(out, x.shape(), x.dtype()).to_doubles();
}

TEST(Updates, DuplicatesAreTakenInOrder) {
  for (const Device device : testing::devices_under_test()) {
    const auto there = [&](const Array& x) { return to_device(x, device); };
    for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::bool_}) {
      for (const auto& [extent, count] : {std::pair{7, 40}, {50, 12}}) {
        for (const int axis : {0, 2}) {
          Shape shape = {4, 5, 6}, selection = shape;
          shape[axis] = extent;
          selection[axis] = count;
          const Array x = factors(shape, dtype, 1), values = factors(selection, dtype, 2);
          const Array drawn = random_array(selection, DType::f64, -0.6, extent + 0.4, 3);
          const Array places = cast(floor(drawn), DType::i64).eval();
          const Array list = slice(reshape(places, {places.size()}), {{0, count}}).eval();
          for (const IndexingUpdateOp update : kUpdates) {
            const std::string what = device.name() + " " + std::string(name(dtype)) + " " +
                                     std::to_string(static_cast<int>(update));
            expect_close(scatter(there(x), there(places), there(values), axis, update),
                         one_by_one(x, places, values, axis, update), 0, what);
            expect_close(select_assign(there(x), there(list), there(values), axis, update),
                         one_by_one(x, list, values, axis, update), 0, what);
            if (axis != 0) continue;
            const Array turned = contiguous(permute(values, {2, 1, 0}));
            expect_close(
                scatter(there(x), there(places), permute(there(turned), {2, 1, 0}), 0, update),
                one_by_one(x, places, values, 0, update), 0, what);
          }
        }
      }
    }
  }
}

TEST(Updates, PointsNamedSeveralTimes) {
  const Array x = array({1, 2, 3, 4}, {2, 2});
  const Array points = ints({0, 1, 1, 0, 0, 1}, {3, 2}), values = array({5, 6, -7}, {3});
  expect_values(scatter_nd(x, points, values), {2, 2}, {1, -7, 6, 4});
  expect_values(scatter_nd(x, points, values, IndexingUpdateOp::add), {2, 2}, {1, 0, 9, 4});
  expect_values(scatter_nd(x, points, values, IndexingUpdateOp::mul), {2, 2}, {1, -70, 18, 4});
  expect_values(scatter_nd(x, points, values, IndexingUpdateOp::min), {2, 2}, {1, -7, 3, 4});
  expect_values(scatter_nd(x, points, values, IndexingUpdateOp::max), {2, 2}, {1, 5, 6, 4});
}

TEST(Updates, ANaNIsTheResultOfMinAndMax) {
  const Array list = ints({0, 0, 0, 1, 1, 2}, {6});
  const Array x = array({1, kNan, -kInf, kNan}, {4}, DType::f32);
  const Array values = array({2, kNan, 3, 4, 5, kInf}, {6}, DType::f32);
  for (const auto& update : {IndexingUpdateOp::min, IndexingUpdateOp::max}) {
    const double last = update == IndexingUpdateOp::max ? kInf : -kInf;
    expect_values(select_assign(x, list, values, 0, update), {4}, {kNan, kNan, last, kNan});
    expect_values(scatter(x, list, values, 0, update), {4}, {kNan, kNan, last, kNan});
  }
}

TEST(Updates, ProductsOfSmallFloatsAreRoundedOnce) {
  for (const Device device : testing::devices_under_test()) {
    const Array x = to_device(array({60000, 1}, {2, 1}, DType::f16), device);
    const Array values = to_device(array({2, 2, 0.25}, {3, 1}, DType::f16), device);
    const Array list = to_device(ints({0, 0, 0}, {3}), device);
    expect_values(select_assign(x, list, values, 0, IndexingUpdateOp::mul), {2, 1}, {60000, 1});
    expect_values(scatter(x, reshape(list, {3, 1}), values, 0, IndexingUpdateOp::mul), {2, 1},
                  {60000, 1});
  }
}

TEST(Updates, TruthValues) {
  const Array x = array({1, 0, 1, 0}, {4}, DType::bool_);
  const Array list = ints({0, 0, 1, 1, 2}, {5});
  const Array values = array({1, 0, 0, 1, 0}, {5}, DType::bool_);
  for (const auto& [update, expected] : {std::pair{IndexingUpdateOp::assign, Values{0, 1, 0, 0}},
                                         {IndexingUpdateOp::add, Values{1, 1, 1, 0}},
                                         {IndexingUpdateOp::mul, Values{0, 0, 0, 0}},
                                         {IndexingUpdateOp::min, Values{0, 0, 0, 0}},
                                         {IndexingUpdateOp::max, Values{1, 1, 1, 0}}}) {
    expect_values(scatter(x, list, values, 0, update), {4}, expected);
    expect_values(select_assign(x, list, values, 0, update), {4}, expected);
    expect_values(scatter_nd(x, reshape(list, {5, 1}), values, update), {4}, expected);
  }
}

// Of the sum of the result times 1, 10, 100...
std::vector<Values> gradients_of(const Array& x, const Array& list, const Array& values,
                                 IndexingUpdateOp update) {
  const Array a = array(x.to_doubles(), x.shape()).require_grad();
  const Array b = array(values.to_doubles(), values.shape()).require_grad();
  const Array weights = pow(10.0, arange(0, x.size(), 1, DType::f64));
  std::vector<Values> both;
  for (const bool is_list : {true, false}) {
    const Array out =
        is_list ? select_assign(a, list, b, 0, update) : scatter(a, list, b, 0, update);
    const Gradients gradients = backward(sum(mul(out, weights)));
    Values all = gradients.get(a).to_doubles();
    const Values more = gradients.get(b).to_doubles();
    all.insert(all.end(), more.begin(), more.end());
    both.push_back(all);
  }
  return both;
}

TEST(Updates, GradientsWhereValuesMeet) {
  const auto expect = [](const Array& x, const Array& list, const Array& values,
                         IndexingUpdateOp update, const Values& expected) {
    for (const Values& got : gradients_of(x, list, values, update)) {
      expect_close(got, expected, 1e-12, std::to_string(static_cast<int>(update)));
    }
  };
  const Array list = ints({0, 0, 0, 1, 1}, {5});
  const Array x = array({2, 1, kNan}, {3}), values = array({2, 2, 0, 3, 3}, {5});
  expect(x, list, values, IndexingUpdateOp::assign, {0, 0, 100, 0, 0, 1, 0, 10});
  expect(x, list, values, IndexingUpdateOp::max, {1.0 / 3, 0, 100, 1.0 / 3, 1.0 / 3, 0, 5, 5});
  expect(x, list, values, IndexingUpdateOp::min, {0, 10, 100, 0, 0, 1, 0, 0});
  // Zeros: none, one and two among the factors.
  const Array y = array({2, 5, 0, kInf}, {4}), some = array({3, 0, 0, 0, 4}, {5});
  expect(y, ints({0, 1, 1, 2, 0}, {5}), some, IndexingUpdateOp::mul,
         {12, 0, 0, 1000, 8, 0, 0, 0, 6});
  expect(array({2, 5}, {2}), ints({0, 0}, {2}), array({0, 7}, {2}), IndexingUpdateOp::mul,
         {0, 10, 14, 0});
}

TEST(Updates, GradientsOfValuesNamedSeveralTimes) {
  const Array x = random_array({3, 2}, DType::f64, 0.5, 1.5);
  const Array v = random_array({6, 2}, DType::f64, 0.4, 1.7, 9);
  const Array list = ints({2, 0, 2, 2, 0, 3}, {6});  // 3 is outside
  const Array places = ints({2, 0, 0, 1, 2, 1, 2, 0, 1, 1, 0, 0}, {6, 2});
  for (const IndexingUpdateOp update : kUpdates) {
    check_second_gradients(
        [&](std::span<const Array> in) {
          return square(select_assign(in[0], list, in[1], 0, update));
        },
        {x, v});
    check_second_gradients(
        [&](std::span<const Array> in) { return square(scatter(in[0], places, in[1], 0, update)); },
        {x, v});
    check_gradients(
        [&](std::span<const Array> in) {
          return scatter(transpose(in[0]), transpose(places), transpose(in[1]), 1, update);
        },
        {x, v});
    check_gradients(
        [&](std::span<const Array> in) {
          return scatter_nd(in[0], ints({2, 0, 2, 1, 0, 1}, {6, 1}), in[1], update);
        },
        {x, v});
  }
}

TEST(Updates, WrongArgumentsAreErrors) {
  const Array x = zeros({3, 2}), v = zeros({2, 2});
  const Array more = zeros({2, 2}, DType::bool_);
  const Array rows = ints({0, 1}, {2}), places = ints({0, 1, 1, 0}, {2, 2});
  for (const IndexingUpdateOp update : kUpdates) {
    expect_error(ErrorCode::shape, [&] { (void)select_assign(x, rows, zeros({3, 2}), 0, update); });
    expect_error(ErrorCode::dtype, [&] { (void)select_assign(x, rows, more, 0, update); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)select_assign(x, rows, v, 2, update); });
    expect_error(ErrorCode::shape, [&] { (void)scatter(x, places, zeros({2, 1}), 0, update); });
    expect_error(ErrorCode::dtype, [&] { (void)scatter(x, places, more, 0, update); });
    expect_error(ErrorCode::dtype, [&] { (void)scatter(x, v, v, 0, update); });
  }
}

}  // namespace
}  // namespace hearth
