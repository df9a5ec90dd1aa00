#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <sstream>

#include "hearth/array.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

template <class T>
Array array(std::vector<T> values, const Shape& shape) {
  return Array::from_data(values, shape);
}

TEST(Print, RowsAreNested) {
  EXPECT_EQ(printed(array<float>({1, 2.5, -3, 4}, {2, 2})),
            "Array f32 [2, 2]\n[[1, 2.5],\n [-3, 4]]");
  EXPECT_EQ(printed(array<std::int32_t>({1, 2, 3, 4}, {2, 2, 1})),
            "Array i32 [2, 2, 1]\n[[[1],\n  [2]],\n\n [[3],\n  [4]]]");
  EXPECT_EQ(printed(array<float>({1, 2, 3}, {3})), "Array f32 [3] [1, 2, 3]");
  EXPECT_EQ(printed(array<float>({}, {0, 3})), "Array f32 [0, 3]\n[]");
}

TEST(Print, NumbersAreWhatTheyAre) {
  EXPECT_EQ(printed(array<std::int64_t>({9007199254740993, INT64_MIN}, {2})),
            "Array i64 [2] [9007199254740993, -9223372036854775808]");
  EXPECT_EQ(printed(array<std::uint64_t>({UINT64_MAX}, {1})),
            "Array u64 [1] [18446744073709551615]");
  EXPECT_EQ(printed(array<std::int8_t>({65, -1}, {2})), "Array i8 [2] [65, -1]");
  EXPECT_EQ(printed(array<double>({-NAN, -INFINITY}, {2})), "Array f64 [2] [nan, -inf]");
  EXPECT_EQ(printed(greater(array<float>({1, 2}, {2}), 1.5)), "Array bool [2] [false, true]");
  EXPECT_EQ(printed(Array(2.5)), "Array f32 [] 2.5");
  EXPECT_EQ(printed(Array()), "Array undefined");
  EXPECT_EQ(printed(Tensor<2>()), "Array undefined");
}

TEST(Print, ViewsAreSeenThroughTheirStrides) {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(printed(transpose(x)), "Array f32 [3, 2]\n[[1, 4],\n [2, 5],\n [3, 6]]");
  EXPECT_EQ(printed(flip(x, {1})), "Array f32 [2, 3]\n[[3, 2, 1],\n [6, 5, 4]]");
}

TEST(Print, OfManyElementsAFewAreShown) {
  EXPECT_EQ(printed(arange(0, 1001)), "Array i64 [1001] [0, 1, 2, ..., 998, 999, 1000]");
  EXPECT_EQ(
      printed(expand(ones({1, 1}), {100, 100})),
      "Array f32 [100, 100]\n[[1, 1, 1, ..., 1, 1, 1],\n [1, 1, 1, ..., 1, 1, 1],\n [1, 1, 1, "
      "..., 1, 1, 1],\n ...,\n [1, 1, 1, ..., 1, 1, 1],\n [1, 1, 1, ..., 1, 1, 1],\n [1, 1, "
      "1, ..., 1, 1, 1]]");
}

TEST(Item, IntegersAreExact) {
  for (const std::int64_t value : {std::int64_t{9007199254740993}, INT64_MAX, INT64_MIN}) {
    const auto x = Tensor<1, Int>::from_data(std::vector<std::int64_t>{value}, {1});
    EXPECT_EQ(x.item(), value);
    EXPECT_EQ(x.max().item(), value);
    EXPECT_EQ(x.sum().into_scalar(), value);
    EXPECT_EQ(Array(value).item<std::int64_t>(), value);
  }
  EXPECT_EQ(array<std::uint64_t>({UINT64_MAX}, {1}).item<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(array<float>({-3}, {1}).item<std::int64_t>(), -3);
  EXPECT_EQ(array<std::int64_t>({7}, {1}).item(), 7.0);
}

TEST(Item, WhatDoesNotFitIsAnError) {
  EXPECT_THROW(array<float>({2.5}, {1}).item<std::int64_t>(), Error);
  EXPECT_THROW(array<float>({NAN}, {1}).item<std::int32_t>(), Error);
  EXPECT_THROW(array<double>({9223372036854775808.0}, {1}).item<std::int64_t>(), Error);
  EXPECT_THROW(array<std::int64_t>({-1}, {1}).item<std::uint64_t>(), Error);
  EXPECT_THROW(array<std::int64_t>({300}, {1}).item<std::uint8_t>(), Error);
  EXPECT_THROW(array<std::int64_t>({2}, {1}).item<bool>(), Error);
  EXPECT_THROW(array<float>({1, 2}, {2}).item(), Error);
}

}  // namespace
}  // namespace hearth
