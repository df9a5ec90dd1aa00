// What views, cat and constants mean at the edges.
#include "check.h"

namespace hearth {
namespace {

using check::array;
using check::expect_error;
using check::expect_values;
using check::Values;

Array ramp(const Shape& shape) {
  return reshape(arange(0, element_count(shape), 1, DType::f32), shape);
}

// Rows of whole lines, from few to many of them.
TEST(Movement, ShortRowsInAnotherOrder) {
  for (const std::int64_t width : {16, 32, 48, 128, 192}) {
    const std::int64_t a = 3, b = 40, c = 37;
    const Array x = reshape(arange(0, a * b * c * width, 1, DType::i32), {a, b, c, width}).eval();
    const std::vector<double> got = contiguous(permute(x, {2, 0, 1, 3})).to_doubles();
    std::size_t at = 0;
    for (std::int64_t k = 0; k < c; ++k) {
      for (std::int64_t row = 0; row < a * b; ++row) {
        for (std::int64_t i = 0; i < width; ++i) {
          ASSERT_EQ(got[at++], static_cast<double>((row * c + k) * width + i)) << width;
        }
      }
    }
    const Array turned = permute(x, {0, 2, 1, 3});
    EXPECT_EQ(permute(contiguous(turned), {0, 2, 1, 3}).to_doubles(), x.to_doubles());
  }
}

// Rows of a few elements: repeated, reversed, in an order of their own, and past the cache.
TEST(Movement, RowsOfFewElements) {
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32, DType::i64}) {
    const Array x = cast(remainder(arange(0, 6 * 700, 1, DType::i32), 119), dtype).eval();
    const Values v = x.to_doubles();
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 12, 30, 60, 200}) {
      Values expected, backwards;
      for (const double each : v)
        expected.insert(expected.end(), static_cast<std::size_t>(n), each);
      EXPECT_EQ(repeat_interleave(x, n, 0).to_doubles(), expected) << n;
      const std::int64_t rows = 6 * 700 / n;
      const Array lines = reshape(narrow(x, 0, 0, rows * n), {rows, n});
      const Array some = slice(lines, {Slice{3, rows - 2, 2}, Slice{0, n}});
      for (std::int64_t row = 3; row < rows - 2; row += 2) {
        for (std::int64_t i = n; i-- > 0;) {
          backwards.push_back(v[static_cast<std::size_t>(row * n + i)]);
        }
      }
      EXPECT_EQ(contiguous(flip(some, {1})).to_doubles(), backwards) << n;
    }
  }
  const std::int64_t size = (std::int64_t{3} << 20) + 5;  // three of each are more than 32 MB
  const Array x = arange(0, size, 1, DType::i32).eval();
  for (const std::int64_t n : {3, 5}) {
    const Array many = repeat_interleave(x, n, 0);
    const Array at = div(arange(0, size * n, 1, DType::i32), n);
    EXPECT_TRUE(all(equal(many.eval(), at)).item<bool>()) << n;
  }
}

// Joined by rows of the axes before: columns of one element, backwards, transposed, expanded, none.
TEST(Movement, CatOfManyShortRows) {
  const std::int64_t rows = 3000;
  for (const DType dtype : {DType::i8, DType::bf16, DType::f32, DType::f64}) {
    const auto numbers = [&](std::int64_t n) {
      return cast(remainder(arange(0, rows * n, 1, DType::i32), 101), dtype).eval();
    };
    const std::vector<Array> parts = {
        reshape(numbers(1), {rows, 1}),
        flip(reshape(numbers(3), {rows, 3}), {1}),
        reshape(numbers(20), {rows, 20}),
        transpose(reshape(numbers(2), {2, rows})),
        narrow(reshape(numbers(2), {rows, 2}), 1, 0, 0),
        expand(reshape(numbers(1), {rows, 1}), {rows, 4}),
    };
    for (const std::size_t count : {std::size_t{3}, parts.size()}) {
      const std::vector<Array> some(parts.begin(),
                                    parts.begin() + static_cast<std::ptrdiff_t>(count));
      Values expected;
      std::vector<Values> values;
      for (const Array& part : some) values.push_back(part.to_doubles());
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::size_t i = 0; i < count; ++i) {
          const std::int64_t n = some[i].shape()[1];
          const auto from = values[i].begin() + row * n;
          expected.insert(expected.end(), from, from + n);
        }
      }
      EXPECT_EQ(cat(some, 1).to_doubles(), expected);
      const std::int64_t width = static_cast<std::int64_t>(expected.size()) / rows;
      std::vector<Array> planes;
      for (const Array& part : some) planes.push_back(reshape(part, {30, 100, part.shape()[1]}));
      EXPECT_EQ(reshape(cat(planes, 2), {rows, width}).to_doubles(), expected);
    }
  }
}

// Operands of which a tile takes runs of a few elements.
TEST(Movement, BroadcastAlongShortAxes) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i8, DType::i64}) {
    for (const Shape& shape :
         {Shape{70, 2, 3}, Shape{9, 37, 2}, Shape{3, 50, 16}, Shape{600, 1, 5}}) {
      const std::int64_t a = shape[0], b = shape[1], c = shape[2];
      const auto numbers = [&](const Shape& of, std::int64_t below) {
        const Array at = arange(0, element_count(of), 1, DType::i64);
        return cast(reshape(remainder(at, below), of), dtype).eval();
      };
      const Array x = numbers({c, b, a}, 23), y = numbers({b, 1}, 7), z = numbers({c}, 5);
      const Array w = numbers({a, 1, c}, 11), v = numbers({a, b, 1}, 3);
      const Array got = permute(x, {2, 1, 0}) + y + z * v + flip(w, {0, 2});
      ASSERT_EQ(got.shape(), shape);
      const Values values = got.to_doubles();
      for (std::int64_t i = 0; i < a * b * c; ++i) {
        const std::int64_t at0 = i / (b * c), at1 = i / c % b, at2 = i % c;
        const std::int64_t expected = ((at2 * b + at1) * a + at0) % 23 + at1 % 7 +
                                      at2 % 5 * ((at0 * b + at1) % 3) +
                                      ((a - 1 - at0) * c + c - 1 - at2) % 11;
        ASSERT_EQ(values[static_cast<std::size_t>(i)], static_cast<double>(expected)) << i;
      }
    }
  }
}

TEST(Movement, ArraysOfOneValue) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::u32,
                            DType::i8, DType::u8, DType::bool_}) {
    const double value = is_bool(dtype) ? 1 : 100;
    for (const std::int64_t n : {1, 5, 64, 3001}) {
      const Values expected(static_cast<std::size_t>(3 * n), value);
      EXPECT_EQ(full({3, n}, value, dtype).to_doubles(), expected);
      EXPECT_EQ(contiguous(narrow(full({5, n}, value, dtype), 0, 1, 3)).to_doubles(), expected);
    }
  }
  const Values third = full({3}, 1.0 / 3, DType::bf16).to_doubles();
  EXPECT_EQ(third, Values(3, static_cast<float>(bfloat16(1.0f / 3))));
  const Array many = full({3, (std::int64_t{2} << 20) + 1}, -7, DType::i32).eval();
  EXPECT_TRUE(all(equal(many, -7)).item<bool>());
}

TEST(Movement, Reshape) {
  const Array x = ramp({2, 3});
  expect_values(reshape(x, {3, -1}), {3, 2}, {0, 1, 2, 3, 4, 5});
  expect_values(reshape(transpose(x), {6}), {6}, {0, 3, 1, 4, 2, 5});
  expect_values(reshape(ramp({1}), {}), {}, {0});
  expect_values(reshape(array({}, {0, 3}, DType::f32), {3, 0}), {3, 0}, {});
  expect_error(ErrorCode::shape, [&] { (void)reshape(x, {4}); });
  expect_error(ErrorCode::shape, [&] { (void)reshape(x, {-1, -1}); });
  expect_error(ErrorCode::shape, [&] { (void)reshape(x, {4, -1}); });
  expect_error(ErrorCode::shape, [&] { (void)reshape(array({}, {0}, DType::f32), {0, -1}); });
}

TEST(Movement, ReshapeOfStridedArrays) {
  // Unit axes in between carry strides of their own.
  const Array x = permute(ramp({4, 1, 3, 2}), {2, 1, 0, 3});
  Values expected;
  for (int c = 0; c < 3; ++c) {
    for (int a = 0; a < 4; ++a) {
      for (int d = 0; d < 2; ++d) expected.push_back(a * 6 + c * 2 + d);
    }
  }
  expect_values(x, {3, 1, 4, 2}, expected);
  expect_values(reshape(x, {3, 4, 1, 2}), {3, 4, 1, 2}, expected);
  expect_values(reshape(x, {12, 2}), {12, 2}, expected);
  expect_values(reshape(x, {3, 2, 2, 1, 2}), {3, 2, 2, 1, 2}, expected);
  expect_values(reshape(expand(ramp({1, 3}), {2, 3}), {6}), {6}, {0, 1, 2, 0, 1, 2});
  expect_values(reshape(expand(ramp({2, 1}), {2, 3}), {2, 3, 1}), {2, 3, 1}, {0, 0, 0, 1, 1, 1});
  const Array kept = x.eval();
  expect_values(reshape(kept, {1, 3, 2, 2, 2}), {1, 3, 2, 2, 2}, expected);
}

TEST(Movement, PermuteAndExpand) {
  const Array x = ramp({2, 3});
  expect_values(permute(x, {-1, 0}), {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_values(swap_axes(x, 0, -1), {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_values(expand(ramp({3}), {2, -1}), {2, 3}, {0, 1, 2, 0, 1, 2});
  expect_values(broadcast_to(Array(2.5), {2}), {2}, {2.5, 2.5});
  expect_values(expand(ramp({1, 2}), {0, 2}), {0, 2}, {});
  expect_error(ErrorCode::invalid_argument, [&] { (void)permute(x, {0, 0}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)permute(x, {0}); });
  expect_error(ErrorCode::shape, [&] { (void)expand(x, {2, 4}); });
  expect_error(ErrorCode::shape, [&] { (void)expand(x, {3}); });
  expect_error(ErrorCode::shape, [&] { (void)transpose(ramp({3})); });
}

TEST(Movement, SqueezeUnsqueezeFlatten) {
  const Array x = ramp({1, 3, 1});
  expect_values(squeeze(x), {3}, {0, 1, 2});
  expect_values(squeeze(x, {-1}), {1, 3}, {0, 1, 2});
  expect_values(unsqueeze(ramp({3}), {0, 2}), {1, 3, 1}, {0, 1, 2});
  expect_values(unsqueeze(ramp({3}), {-1}), {3, 1}, {0, 1, 2});
  expect_values(flatten(ramp({2, 3, 2}), 1), {2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  expect_values(flatten(ramp({})), {1}, {0});
  expect_error(ErrorCode::shape, [&] { (void)squeeze(x, {1}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)unsqueeze(x, {7}); });
}

TEST(Movement, SlicesWalkTheSameRangeBackwards) {
  const Array x = ramp({10});
  expect_values(slice(x, {{0, 5, -1}}), {5}, {4, 3, 2, 1, 0});
  expect_values(slice(x, {{2, 8, -2}}), {3}, {7, 5, 3});
  expect_values(slice(x, {{2, 8, 3}}), {2}, {2, 5});
  expect_values(slice(x, {{-3}}), {3}, {7, 8, 9});
  expect_values(slice(x, {{0, -7}}), {3}, {0, 1, 2});
  expect_values(slice(x, {{8, 100}}), {2}, {8, 9});
  expect_values(slice(x, {{5, 2}}), {0}, {});
  expect_values(slice(x, {{0, 10, 100}}), {1}, {0});
  expect_values(slice(x, {{0, 10, INT64_MIN}}), {1}, {9});
  expect_error(ErrorCode::invalid_argument, [&] { (void)slice(x, {{0, 5, 0}}); });
  expect_error(ErrorCode::shape, [&] { (void)slice(x, {{0, 1}, {0, 1}}); });
  const Array y = ramp({3, 4});
  expect_values(slice(y, {{0, 3, -2}, {1, 4, 2}}), {2, 2}, {9, 11, 1, 3});
  expect_values(slice(transpose(y), {{1, 3}}), {2, 3}, {1, 5, 9, 2, 6, 10});
  // Slices of slices, and of reversed ones.
  expect_values(slice(slice(x, {{0, 10, -1}}), {{2, 8, 2}}), {3}, {7, 5, 3});
  expect_values(slice(slice(x, {{0, 10, -1}}), {{0, 6, -3}}), {2}, {4, 7});
}

TEST(Movement, NarrowFlipAndDynamicSlices) {
  const Array x = ramp({3, 4});
  expect_values(narrow(x, 1, 1, 2), {3, 2}, {1, 2, 5, 6, 9, 10});
  expect_values(narrow(x, 0, 3, 0), {0, 4}, {});
  expect_error(ErrorCode::invalid_argument, [&] { (void)narrow(x, 1, 3, 2); });
  expect_values(flip(x, {0}), {3, 4}, {8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3});
  expect_values(flip(x, {0, 1}), {3, 4}, {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  expect_values(flip(array({}, {0}, DType::f32), {0}), {0}, {});
  for (int row = 0; row < 2; ++row) {
    const double first = row * 4 + 1;
    expect_values(dynamic_slice(x, {row, 1}, {2, 2}), {2, 2},
                  {first, first + 1, first + 4, first + 5});
  }
  expect_values(dynamic_slice(transpose(x), {2, 1}, {2, 2}), {2, 2}, {6, 10, 7, 11});
  expect_error(ErrorCode::invalid_argument, [&] { (void)dynamic_slice(x, {2, 1}, {2, 2}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)dynamic_slice(x, {-1, 1}, {2, 2}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)dynamic_slice(x, {0}, {2, 2}); });
}

TEST(Movement, CatStackSplitChunkRepeat) {
  const Array x = ramp({2, 2});
  expect_values(cat({x, narrow(x, 1, 0, 1)}, 1), {2, 3}, {0, 1, 0, 2, 3, 2});
  expect_values(cat({x, transpose(x)}, -2), {4, 2}, {0, 1, 2, 3, 0, 2, 1, 3});
  expect_values(cat({narrow(x, 0, 0, 0), x}, 0), {2, 2}, {0, 1, 2, 3});
  expect_values(stack({x, x}, 0), {2, 2, 2}, {0, 1, 2, 3, 0, 1, 2, 3});
  expect_values(stack({x, x + 10}, -1), {2, 2, 2}, {0, 10, 1, 11, 2, 12, 3, 13});
  expect_error(ErrorCode::shape, [&] { (void)cat({x, ramp({3, 3})}, 0); });
  expect_error(ErrorCode::dtype, [&] { (void)cat({x, cast(x, DType::f64)}, 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)cat(std::vector<Array>(), 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)cat({ramp({}), ramp({})}, 0); });
  const std::vector<Array> parts = split(ramp({5}), {2, 0, 3}, 0);
  ASSERT_EQ(parts.size(), 3u);
  expect_values(parts[0], {2}, {0, 1});
  expect_values(parts[1], {0}, {});
  expect_values(parts[2], {3}, {2, 3, 4});
  expect_error(ErrorCode::invalid_argument, [&] { split(ramp({5}), {2, 2}, 0); });
  const std::vector<Array> chunks = chunk(ramp({7}), 3, 0);
  ASSERT_EQ(chunks.size(), 3u);
  expect_values(chunks[2], {1}, {6});
  EXPECT_EQ(chunk(ramp({4}), 3, 0).size(), 2u);
  expect_values(repeat(x, {2, 1}), {4, 2}, {0, 1, 2, 3, 0, 1, 2, 3});
  expect_values(repeat(x, {1, 2}), {2, 4}, {0, 1, 0, 1, 2, 3, 2, 3});
  expect_values(repeat(x, {0, 2}), {0, 4}, {});
  const Array deep = repeat(ramp({1, 1, 1, 1, 1, 1, 1, 2}), {1, 1, 1, 1, 1, 1, 2, 2});
  expect_values(deep, {1, 1, 1, 1, 1, 1, 2, 4}, {0, 1, 0, 1, 0, 1, 0, 1});
  const Array deeper = repeat(ramp({2, 1, 1, 1, 1, 1, 1, 2}), {2, 1, 1, 1, 1, 1, 1, 2});
  expect_values(deeper, {4, 1, 1, 1, 1, 1, 1, 4}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
  EXPECT_EQ(repeat(ramp({1, 1, 1, 1, 1, 1, 1, 2}), {1, 1, 1, 1, 1, 1, 0, 2}).shape(),
            (Shape{1, 1, 1, 1, 1, 1, 0, 4}));
  for (const int rank : {2, 8}) {
    const Array one = reshape(ramp({2}), [&] {
      Shape shape = Dims::filled(rank, 1);
      shape[rank - 1] = 2;
      return shape;
    }());
    for (const std::int64_t times : {INT64_MAX, std::int64_t{1} << 31}) {
      try {
        repeat(one, Dims::filled(rank, times)).eval();
        ADD_FAILURE() << "repeated " << times << " times";
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).rfind("repeat: shape too large; got ", 0), 0u)
            << error.what();
      }
    }
  }
}

// Two arrays of one element each along the last axis go element by element, of every size.
TEST(Movement, CatOfPairs) {
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64, DType::i64}) {
    for (const std::int64_t n : {0, 1, 5, 1000}) {
      const Array x = cast(remainder(arange(0, 3 * n), 100), dtype);
      const Array y = cast(remainder(arange(0, 3 * n), 90), dtype);
      const Array a = reshape(x, {3, n}), b = transpose(reshape(y, {n, 3}));
      for (const Array& other : {reshape(y, {3, n}), b}) {
        const Values left = a.to_doubles(), right = other.to_doubles();
        Values want;
        for (std::size_t i = 0; i < left.size(); ++i) {
          want.push_back(left[i]);
          want.push_back(right[i]);
        }
        EXPECT_EQ(stack({a, other}, -1).to_doubles(), want);
        EXPECT_EQ(cat({unsqueeze(a, {2, 3}), unsqueeze(other, {2, 3})}, 2).to_doubles(), want);
        EXPECT_EQ(cat({unsqueeze(a, {2, 3}), unsqueeze(other, {2, 3})}, 3).to_doubles(), want);
      }
    }
  }
}

TEST(Movement, CatOfMany) {
  std::vector<Array> rows;
  Values expected;
  for (int i = 0; i < 1500; ++i) {
    rows.push_back(full({1}, i, DType::f64));
    expected.push_back(i);
  }
  expect_values(cat(rows, 0), {1500}, expected);
}

TEST(Creation, Constants) {
  expect_values(zeros({2, 2}), {2, 2}, {0, 0, 0, 0});
  expect_values(ones({2}, DType::bool_), {2}, {1, 1});
  expect_values(full({2}, 2.5, DType::bf16), {2}, {2.5, 2.5});
  expect_values(full({2}, array({7}, {}, DType::i32), DType::f32), {2}, {7, 7});
  EXPECT_EQ(full({1}, INT64_MAX, DType::i64).to_vector<std::int64_t>()[0], INT64_MAX);
  expect_values(zeros({0, 3}), {0, 3}, {});
  expect_error(ErrorCode::shape, [] { (void)zeros({-1}); });
  expect_error(ErrorCode::shape, [] { (void)zeros({1LL << 40, 1LL << 40}); });
  expect_values(ones_like(array({3, 4}, {2}, DType::i8)), {2}, {1, 1});
  EXPECT_EQ(cast(2.7, DType::i32).item(), 2);
  EXPECT_EQ(cast(-1, DType::f16).dtype(), DType::f16);
}

TEST(Creation, Ranges) {
  expect_values(arange(0, 5), {5}, {0, 1, 2, 3, 4});
  expect_values(arange(5, 0, -2), {3}, {5, 3, 1});
  expect_values(arange(3, 3), {0}, {});
  expect_values(arange(0, 7, 3, DType::f32), {3}, {0, 3, 6});
  expect_values(arange(0, 300, 100, DType::i16), {3}, {0, 100, 200});
  expect_values(linear_ramp(3, 0.5, 0.25, DType::f64), {3}, {0.5, 0.75, 1});
  expect_error(ErrorCode::invalid_argument, [] { (void)arange(0, 5, 0); });
  expect_error(ErrorCode::dtype, [] { (void)arange(0, 5, 1, DType::bool_); });
}

TEST(Creation, Triangles) {
  expect_values(eye(2), {2, 2}, {1, 0, 0, 1});
  const Array x = ramp({3, 3}) + 1;
  expect_values(triu(x), {3, 3}, {1, 2, 3, 0, 5, 6, 0, 0, 9});
  expect_values(tril(x, -1), {3, 3}, {0, 0, 0, 4, 0, 0, 7, 8, 0});
  expect_values(triu(x, 1), {3, 3}, {0, 2, 3, 0, 0, 6, 0, 0, 0});
  expect_values(tril_mask(2, 3), {2, 3}, {0, 1, 1, 0, 0, 1});
  expect_values(triu_mask(2, 3), {2, 3}, {0, 0, 0, 1, 0, 0});
}

TEST(Triangles, DiagonalsFarOffTakeAllOrNothing) {
  const Array x = reshape(arange(1, 7), {2, 3});
  const Values all = {1, 2, 3, 4, 5, 6}, nothing(6, 0), masked(6, 1);
  for (const std::int64_t far : {std::int64_t{3}, INT64_MAX - 1, INT64_MAX}) {
    expect_values(triu(x, far), {2, 3}, nothing);
    expect_values(tril(x, far), {2, 3}, all);
    expect_values(triu_mask(2, 3, far), {2, 3}, masked);
    expect_values(tril_mask(2, 3, far), {2, 3}, nothing);
  }
  for (const std::int64_t far : {std::int64_t{-2}, INT64_MIN + 1, INT64_MIN}) {
    expect_values(triu(x, far), {2, 3}, all);
    expect_values(tril(x, far), {2, 3}, nothing);
    expect_values(triu_mask(2, 3, far), {2, 3}, nothing);
    expect_values(tril_mask(2, 3, far), {2, 3}, masked);
  }
  expect_values(triu(x, 2), {2, 3}, {0, 0, 3, 0, 0, 0});
  expect_values(tril(x, -1), {2, 3}, {0, 0, 0, 4, 0, 0});
}

}  // namespace
}  // namespace hearth
