// slice_assign, gather, scatter_add, select, select_add, embedding and one_hot against plain loops.
#include "check.h"

namespace hearth {
namespace {

using namespace check;

Values counted(std::int64_t n, double first = 0) {
  Values values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(first + static_cast<double>(i));
  return values;
}

TEST(SliceAssign, WritesTheRegion) {
  const Array x = array(Values(20, 0.0), {4, 5}, DType::f32);
  const Array value = array(counted(6, 1), {2, 3}, DType::f32);
  expect_values(slice_assign(x, {{1, 3}, {2}}, value), {4, 5},
                {0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0});
  expect_values(slice_assign(x, {{0, 4, 2}, {0, 5, 2}}, value), {4, 5},
                {1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 4, 0, 5, 0, 6, 0, 0, 0, 0, 0});
}

TEST(SliceAssign, NegativeStepsWalkBackwards) {
  const Array x = array(Values(9, 0.0), {9});
  expect_values(slice_assign(x, {{0, 5, -1}}, array(counted(5, 1), {5})), {9},
                {5, 4, 3, 2, 1, 0, 0, 0, 0});
  expect_values(slice_assign(x, {{2, 8, -2}}, array(counted(3, 1), {3})), {9},
                {0, 0, 0, 3, 0, 2, 0, 1, 0});
  // Reading the region back gives the value.
  const Array y = random_array({5, 6, 7});
  const std::vector<Slice> region = {{1, 5, -3}, {0, 6, 4}, {-3}};
  const Array value = random_array({2, 2, 3}, DType::f64, -1, 1, 2);
  const Array written = slice_assign(y, region, value);
  expect_close(slice(written, region), value.to_doubles(), 0);
  int different = 0;
  const Values before = y.to_doubles();
  const Values after = written.to_doubles();
  for (std::size_t i = 0; i < before.size(); ++i) different += before[i] != after[i] ? 1 : 0;
  EXPECT_EQ(different, 12);
}

TEST(SliceAssign, ClampsAndBroadcasts) {
  const Array x = array(counted(6), {2, 3});
  expect_values(slice_assign(x, {{-1, 100}, {-100, 2}}, 9.0), {2, 3}, {0, 1, 2, 9, 9, 5});
  expect_values(slice_assign(x, {{}, {1, 3}}, array({7, 8}, {2, 1})), {2, 3}, {0, 7, 7, 3, 8, 8});
  expect_values(slice_assign(x, {{1, 1}}, 9.0), {2, 3}, counted(6));
  expect_values(slice_assign(x, {{2, 1}}, 9.0), {2, 3}, counted(6));
  expect_values(slice_assign(x, {}, 9.0), {2, 3}, Values(6, 9.0));
  expect_values(slice_assign(array({1}, {}), {}, 5.0), {}, {5});
}

TEST(SliceAssign, OldHandlesKeepTheirValue) {
  const Array x = random_array({8});
  const Values before = x.to_doubles();
  Array y = x;
  for (int i = 0; i < 8; ++i) y = slice_assign(y, {{i, i + 1}}, static_cast<double>(i));
  expect_close(y, counted(8), 0);
  expect_close(x, before, 0);
  const Array flipped = flip(x, {0});
  const Array changed = slice_assign(flipped, {{0, 1}}, 5.0);
  expect_close(x, before, 0);
  EXPECT_EQ(changed.to_doubles()[0], 5.0);
}

TEST(SliceAssign, OtherDTypes) {
  const Array bools = array({0, 0, 0}, {3}, DType::bool_);
  EXPECT_EQ(slice_assign(bools, {{1, 2}}, true).to_vector<bool>(),
            (std::vector<bool>{false, true, false}));
  EXPECT_EQ(slice_assign(ints({1, 2, 3}, {3}), {{2}}, std::int64_t{-7}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, 2, -7}));
  expect_error(ErrorCode::dtype, [] { (void)slice_assign(ints({1, 2}, {2}), {{0, 1}}, 0.5); });
}

TEST(SliceAssign, DynamicStarts) {
  Array cache = array(Values(12, 0.0), {1, 4, 3}, DType::f32);
  for (std::int64_t i = 0; i < 4; ++i) {
    cache = dynamic_slice_assign(
        cache, {0, i, 0}, array(Values(3, static_cast<double>(i + 1)), {1, 1, 3}, DType::f32));
  }
  expect_values(cache, {1, 4, 3}, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
  expect_values(dynamic_slice(cache, {0, 2, 1}, {1, 2, 2}), {1, 2, 2}, {3, 3, 4, 4});
}

TEST(SliceAssign, PositionsAreNoPartOfAPlan) {
  Array x = array(Values(16, 0.0), {16}, DType::f32).eval();
  const auto step = [&](std::int64_t at) {
    x = dynamic_slice_assign(x, {at}, array({1}, {1}, DType::f32));
    x.eval();
  };
  step(3);
  step(4);
  const Statistics before = statistics();
  for (std::int64_t i = 5; i < 12; ++i) step(i);
  EXPECT_EQ(statistics().plan_misses, before.plan_misses);
}

TEST(SliceAssign, Errors) {
  const Array x = random_array({4, 5});
  expect_error(ErrorCode::shape, [&] { (void)slice_assign(x, {{}, {}, {}}, 1.0); });
  expect_error(ErrorCode::shape, [&] { (void)slice_assign(x, {{0, 2}}, random_array({3, 5})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)slice_assign(x, {{0, 2, 0}}, 1.0); });
  expect_error(ErrorCode::dtype,
               [&] { (void)slice_assign(x, {{0, 1}}, random_array({5}, DType::f32)); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)dynamic_slice_assign(x, {3, 0}, random_array({2, 5})); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)dynamic_slice_assign(x, {-1, 0}, random_array({2, 5})); });
  expect_error(ErrorCode::shape, [&] { (void)dynamic_slice_assign(x, {0, 0}, random_array({5})); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)dynamic_slice_assign(x, {0}, random_array({2, 5})); });
}

TEST(SliceAssign, Gradients) {
  const Array x = random_array({4, 5});
  for (const std::vector<Slice>& region :
       {std::vector<Slice>{{1, 3}, {2}}, {{0, 4, 2}, {0, 5, -2}}, {{}, {4, 5}}, {{3, 3}}}) {
    const Array value = random_array(slice(x, region).shape(), DType::f64, -1, 1, 2);
    const auto f = [&region](std::span<const Array> a) { return slice_assign(a[0], region, a[1]); };
    if (value.size() > 0) {
      check_gradients(f, {x, value});
    } else {
      check_gradients([&](std::span<const Array> a) { return slice_assign(a[0], region, value); },
                      {x});
    }
  }
  check_gradients([](std::span<const Array> a) { return slice_assign(a[0], {{}, {1, 4}}, a[1]); },
                  {x, random_array({4, 1}, DType::f64, -1, 1, 2)});
  check_gradients([](std::span<const Array> a) { return dynamic_slice_assign(a[0], {1, 2}, a[1]); },
                  {x, random_array({2, 3}, DType::f64, -1, 1, 2)});
  check_gradients([](std::span<const Array> a) { return dynamic_slice(a[0], {1, 2}, {2, 3}); },
                  {x});
}

TEST(Gather, MatchesLoops) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64, DType::u8, DType::bool_}) {
    const Array x = array(counted(12), {3, 4}, dtype);
    const Values v = x.to_doubles();
    const Array ids = ints({3, 0, 1, 1, 2, 2}, {3, 2});
    expect_values(gather(x, ids, 1), {3, 2}, {v[3], v[0], v[5], v[5], v[10], v[10]});
    expect_values(gather(x, ints({2, 1, 0, 1}, {1, 4}), 0), {1, 4}, {v[8], v[5], v[2], v[7]});
    expect_values(gather(x, array({2, 0}, {1, 2}, DType::i32), -2), {1, 2}, {v[8], v[1]});
  }
}

// One rule for all ops that take indices.
TEST(Indices, AreI64OrI32) {
  const Array x = random_array({3, 4}, DType::f32);
  const Array rows = random_array({2, 4}, DType::f32);
  for (const DType dtype : {DType::u8, DType::i16, DType::u64, DType::f32, DType::bool_}) {
    const Array list = array({1, 0}, {2}, dtype);
    const Array table = expand(unsqueeze(list, {1}), {2, 4});
    expect_error(ErrorCode::dtype, [&] { (void)gather(x, table, 0); });
    expect_error(ErrorCode::dtype, [&] { (void)scatter_add(x, table, rows, 0); });
    expect_error(ErrorCode::dtype, [&] { (void)select(x, list, 0); });
    expect_error(ErrorCode::dtype, [&] { (void)select_add(x, list, rows, 0); });
    expect_error(ErrorCode::dtype, [&] { (void)embedding(x, list); });
    expect_error(ErrorCode::dtype, [&] { (void)one_hot(list, 3); });
    expect_error(ErrorCode::dtype, [&] { (void)cross_entropy(rows, list); });
  }
}

TEST(Gather, LayoutsAndEmpty) {
  const Array x = random_array({5, 6});
  const Array ids = expand(ints({4, 0, 2}, {1, 3}), {6, 3});
  expect_close(gather(transpose(x), ids, 1),
               gather(contiguous(transpose(x)), contiguous(ids), 1).to_doubles(), 0);
  EXPECT_EQ(gather(x, ints({}, {5, 0}), 1).shape(), (Shape{5, 0}));
  EXPECT_EQ(gather(random_array({0, 3}), ints({}, {0, 2}), 1).shape(), (Shape{0, 2}));
}

TEST(ScatterAdd, AddsRepeatedIndices) {
  const Array x = array(Values(6, 1.0), {2, 3}, DType::f32);
  const Array ids = ints({0, 0, 2, 1, 1, 1}, {2, 3});
  expect_values(scatter_add(x, ids, array(counted(6, 1), {2, 3}, DType::f32), 1), {2, 3},
                {4, 1, 4, 1, 16, 1});
  expect_values(scatter_add(x, ints({1, 1, 0}, {1, 3}), array({5, 6, 7}, {1, 3}, DType::f32), 0),
                {2, 3}, {1, 1, 8, 6, 7, 1});
  EXPECT_EQ(scatter_add(ints({1, 2}, {2}), ints({0, 0}, {2}), ints({10, 20}, {2}), 0)
                .to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{31, 2}));
}

// Blocks of columns, halves and integers, few additions and many, rows in an order of their own,
// and indices outside.
TEST(ScatterAdd, AlongOtherAxesThanTheLast) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i16, DType::f64}) {
    for (const std::int64_t n : {3, 40}) {
      const std::int64_t a = 2, extent = 90, b = 7, c = 130;
      const auto numbers = [&](const Shape& shape, std::int64_t step, std::int64_t below) {
        const Array at = arange(0, element_count(shape), 1, DType::i64);
        return reshape(remainder(mul(at, step), below), shape).eval();
      };
      const Array x = cast(numbers({a, extent, b, c}, 7, 11), dtype);
      const Array ids = sub(numbers({a, n, b, c}, 7919, extent + 4), 2);
      const Array values = cast(numbers({a, n, b, c}, 31, 5), dtype);
      Values expected = x.to_doubles();
      const std::vector<std::int64_t> at = ids.to_vector<std::int64_t>();
      const Values v = values.to_doubles();
      for (std::int64_t i = 0; i < a * n * b * c; ++i) {
        const std::int64_t target = at[static_cast<std::size_t>(i)];
        if (target < 0 || target >= extent) continue;
        const std::int64_t outer = i / (n * b * c), inner = i % (b * c);
        expected[static_cast<std::size_t>((outer * extent + target) * b * c + inner)] +=
            v[static_cast<std::size_t>(i)];
      }
      EXPECT_EQ(scatter_add(x, ids, values, 1).to_doubles(), expected);
      const auto turned = [](const Array& y) {
        return permute(contiguous(permute(y, {3, 0, 2, 1})), {1, 3, 2, 0});
      };
      EXPECT_EQ(
          scatter_add(turned(x), cast(turned(ids), DType::i32), turned(values), 1).to_doubles(),
          expected);
    }
  }
}

TEST(Gather, LongRowsWithIndicesOutside) {
  const std::int64_t n = 5000, extent = 300;
  for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::i64}) {
    const Array x =
        cast(reshape(remainder(arange(0, 2 * extent, 1, DType::i64), 113), {2, extent}), dtype);
    const Values v = x.to_doubles();
    std::vector<std::int64_t> at;
    for (std::int64_t i = 0; i < 2 * n; ++i) at.push_back(i * 7919 % extent);
    for (const std::int64_t wrong : {std::int64_t{-1}, extent, INT64_MIN, INT64_MAX}) {
      at[4000] = wrong;
      Values expected;
      for (std::int64_t i = 0; i < 2 * n; ++i) {
        const std::int64_t k = at[static_cast<std::size_t>(i)];
        const bool exists = k >= 0 && k < extent;
        expected.push_back(exists ? v[static_cast<std::size_t>(i / n * extent + k)] : 0);
      }
      EXPECT_EQ(gather(x, ints(at, {2, n}), 1).to_doubles(), expected);
      const Array down = gather(contiguous(transpose(x)), transpose(ints(at, {2, n})), 0);
      EXPECT_EQ(transpose(down).to_doubles(), expected);
    }
  }
}

TEST(SelectAdd, OneTargetNamedOften) {
  for (const bool often : {false, true}) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < 400; ++i) ids.push_back(often && i % 3 > 0 ? 5 : i * 7 % 50);
    const std::int64_t width = 300;
    const Array values =
        reshape(remainder(arange(0, 400 * width, 1, DType::i64), 13), {400, width}).eval();
    Values expected(static_cast<std::size_t>(50 * width), 1.0);
    const Values v = values.to_doubles();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (std::int64_t k = 0; k < width; ++k) {
        expected[static_cast<std::size_t>(ids[i] * width + k)] +=
            v[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(k)];
      }
    }
    for (const DType dtype : {DType::f32, DType::i32}) {
      EXPECT_EQ(select_add(ones({50, width}, dtype), ints(ids, {400}), cast(values, dtype), 0)
                    .to_doubles(),
                expected);
    }
  }
}

TEST(ScatterAdd, BoolsAreOred) {
  const Array x = array({1, 0, 0}, {3}, DType::bool_);
  const Array ids = ints({0, 1, 2}, {3});
  const Array values = array({0, 1, 0}, {3}, DType::bool_);
  EXPECT_EQ(scatter_add(x, ids, values, 0).to_vector<bool>(),
            (std::vector<bool>{true, true, false}));
  EXPECT_EQ(select_add(x, ids, values, 0).to_vector<bool>(),
            (std::vector<bool>{true, true, false}));
}

TEST(ScatterAdd, IsDeterministic) {
  const Array x = array(Values(8, 0.0), {8}, DType::f32);
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 10000; ++i) ids.push_back(i * 7 % 8);
  const Array at = ints(ids, {10000});
  const Array values = random_array({10000}, DType::f32);
  const std::vector<float> first = scatter_add(x, at, values, 0).to_vector<float>();
  std::vector<float> expected(8, 0.0f);
  const std::vector<float> v = values.to_vector<float>();
  for (std::size_t i = 0; i < ids.size(); ++i) expected[static_cast<std::size_t>(ids[i])] += v[i];
  EXPECT_EQ(first, expected);
  EXPECT_EQ(scatter_add(x, at, values, 0).to_vector<float>(), first);
}

TEST(Select, TakesSlices) {
  for (const DType dtype : {DType::f64, DType::f16, DType::i32, DType::bool_}) {
    const Array x = array(counted(12), {3, 4}, dtype);
    const Values v = x.to_doubles();
    expect_values(select(x, ints({2, 0, 2}, {3}), 0), {3, 4},
                  {v[8], v[9], v[10], v[11], v[0], v[1], v[2], v[3], v[8], v[9], v[10], v[11]});
    expect_values(select(x, array({1}, {1}, DType::i32), -1), {3, 1}, {v[1], v[5], v[9]});
  }
  const Array x = random_array({4, 5});
  EXPECT_EQ(select(x, ints({}, {0}), 0).shape(), (Shape{0, 5}));
  expect_close(select(transpose(x), ints({3, 1}, {2}), 1),
               transpose(select(x, ints({3, 1}, {2}), 0)).to_doubles(), 0);
}

TEST(SelectAdd, AddsSlices) {
  const Array x = array(Values(6, 1.0), {3, 2});
  expect_values(select_add(x, ints({2, 0, 2}, {3}), array(counted(6), {3, 2}), 0), {3, 2},
                {3, 4, 1, 1, 5, 7});
  expect_values(select_add(x, ints({1, 1}, {2}), array(counted(6), {3, 2}), 1), {3, 2},
                {1, 2, 1, 6, 1, 10});
  expect_values(select_add(x, ints({}, {0}), random_array({0, 2}), 0), {3, 2}, Values(6, 1.0));
}

TEST(Embedding, AnyShapeOfIndices) {
  const Array w = array(counted(8), {4, 2}, DType::f32);
  expect_values(embedding(w, ints({3, 0}, {2})), {2, 2}, {6, 7, 0, 1});
  expect_values(embedding(w, ints({1, 1, 2, 0}, {2, 2})), {2, 2, 2}, {2, 3, 2, 3, 4, 5, 0, 1});
  expect_values(embedding(w, ints({2}, {})), {2}, {4, 5});
  EXPECT_EQ(embedding(w, ints({}, {0, 3})).shape(), (Shape{0, 3, 2}));
  // Gradients of repeated ids add up; unused entries get 0.
  const Array table = w.require_grad();
  const Array g = backward(sum(embedding(table, ints({1, 3, 1}, {3, 1})))).get(table);
  expect_values(g, {4, 2}, {0, 0, 2, 2, 0, 0, 1, 1});
}

TEST(OneHot, MarksTheClass) {
  expect_values(one_hot(ints({1, 0, 3, -1}, {2, 2}), 3), {2, 2, 3},
                {0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(one_hot(ints({1}, {}), 2, DType::bool_).to_vector<bool>(),
            (std::vector<bool>{false, true}));
  EXPECT_EQ(one_hot(ints({1}, {1}), 0).shape(), (Shape{1, 0}));
  expect_error(ErrorCode::dtype, [] { (void)one_hot(random_array({2}), 3); });
  expect_error(ErrorCode::invalid_argument, [] { (void)one_hot(ints({1}, {1}), -1); });
}

TEST(Indexing, Gradients) {
  const Array x = random_array({4, 3});
  const Array values = random_array({4, 5}, DType::f64, -1, 1, 2);
  const Array ids = ints({0, 2, 2, 1, 0, 1, 1, 1, 0, 2, 2, 0, 0, 0, 0, 1, 2, 1, 0, 2}, {4, 5});
  const Array rows = ints({3, 1, 1, 0, 3}, {5});
  check_gradients([&](std::span<const Array> a) { return gather(a[0], ids, 1); }, {x});
  check_gradients([&](std::span<const Array> a) { return scatter_add(a[0], ids, a[1], 1); },
                  {x, values});
  check_gradients([&](std::span<const Array> a) { return select(a[0], rows, 0); }, {x});
  check_gradients([&](std::span<const Array> a) { return select_add(a[0], rows, a[1], 0); },
                  {x, random_array({5, 3}, DType::f64, -1, 1, 3)});
  check_gradients(
      [](std::span<const Array> a) { return embedding(a[0], ints({1, 3, 1, 0}, {2, 2})); }, {x});
  check_second_gradients([&](std::span<const Array> a) { return square(select(a[0], rows, 0)); },
                         {x});
  check_second_gradients(
      [&](std::span<const Array> a) { return square(scatter_add(a[0], ids, a[1], 1)); },
      {x, values});
}

TEST(Indexing, Errors) {
  const Array x = random_array({4, 3});
  expect_error(ErrorCode::shape, [&] { (void)gather(x, ints({0, 1}, {2}), 1); });
  expect_error(ErrorCode::shape,
               [&] { (void)gather(x, ints(std::vector<std::int64_t>(5), {5, 1}), 1); });
  expect_error(ErrorCode::dtype, [&] { (void)gather(x, random_array({4, 1}), 1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)gather(x, ints({0}, {1, 1}), 2); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)gather(random_array({4, 0}), ints({0}, {1, 1}), 1); });
  expect_error(ErrorCode::shape, [&] { (void)select(x, ints({0}, {1, 1}), 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)select(x, ints({0}, {1}), -3); });
  expect_error(ErrorCode::shape,
               [&] { (void)select_add(x, ints({0}, {1}), random_array({2, 3}), 0); });
  expect_error(ErrorCode::dtype,
               [&] { (void)select_add(x, ints({0}, {1}), random_array({1, 3}, DType::f32), 0); });
  expect_error(ErrorCode::shape,
               [&] { (void)scatter_add(x, ints({0}, {1, 1}), random_array({1, 2}), 0); });
  expect_error(ErrorCode::shape, [&] { (void)embedding(random_array({3}), ints({0}, {1})); });
}

}  // namespace
}  // namespace hearth
