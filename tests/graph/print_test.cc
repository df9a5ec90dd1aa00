#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <sstream>
#include <thread>

#include "error_text.h"
#include "hearth/array.h"
#include "hearth/custom_op.h"
#include "hearth/ops.h"
#include "hearth/print.h"
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

TEST(Print, AValueThatFailsLeavesTheStreamEmpty) {
  static const CustomOp failing({
      .name = "test.not_printed",
      .compute = [](std::span<const HostTensor>,
                    HostTensor) { throw Error(ErrorCode::io, "test.not_printed: failed"); },
  });
  std::ostringstream out;
  EXPECT_THROW(out << failing(array<float>({1, 2}, {2})), Error);
  EXPECT_EQ(out.str(), "");
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
  EXPECT_EQ(printed(Tensor<2>()), "Tensor undefined");
  EXPECT_EQ(printed(Tensor<2>::ones({1, 2})), "Tensor f32 [1, 2]\n[[1, 1]]");
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

TEST(Print, TheStreamSaysHowNumbersLook) {
  const Array x = array<double>({1.0 / 3, 1e10}, {2});
  std::ostringstream out;
  out << std::setprecision(3) << x << " ";
  EXPECT_EQ(out.str(), "Array f64 [2] [0.333, 1e+10] ");
  out.str("");
  out << std::fixed << std::setprecision(1) << x;
  EXPECT_EQ(out.str(), "Array f64 [2] [0.3, 10000000000.0]");
  out.str("");
  out << std::hex << array<std::int32_t>({255}, {1});
  EXPECT_EQ(out.str(), "Array i32 [1] [ff]");
}

TEST(PrintOptions, PrecisionIsOfDigitsAfterThePoint) {
  const Array x = array<float>({1.0F / 3, 0.1F, 2, 12345.678F, -0.5F, 0, 1e-5F, 3e20F}, {8});
  const WithPrintOptions options({.precision = 3, .line_width = 200});
  EXPECT_EQ(printed(x), "Array f32 [8] [0.333, 0.1, 2, 12345.678, -0.5, 0, 1e-05, 3e+20]");
  const WithPrintOptions more({.precision = 8, .line_width = 200});
  EXPECT_EQ(printed(x), "Array f32 [8] [0.33333334, 0.1, 2, 12345.678, -0.5, 0, 1e-05, 3e+20]");
  const WithPrintOptions none({.precision = 0, .line_width = 200});
  EXPECT_EQ(printed(x), "Array f32 [8] [0, 0, 2, 12346, -0, 0, 1e-05, 3e+20]");
  const WithPrintOptions all({.precision = 100, .line_width = 1000});
  EXPECT_EQ(printed(array<double>({1.0 / 3, -1e15, NAN, -INFINITY}, {4})),
            "Array f64 [4] [0.3333333333333333, -1000000000000000, nan, -inf]");
}

TEST(PrintOptions, ScientificIsWithAnExponent) {
  const Array x = array<float>({1.0F / 3, 0, 1500}, {3});
  const WithPrintOptions options({.scientific = true});
  EXPECT_EQ(printed(x), "Array f32 [3] [3.3333334e-01, 0e+00, 1.5e+03]");
  const WithPrintOptions fewer({.precision = 2, .scientific = true});
  EXPECT_EQ(printed(x), "Array f32 [3] [3.33e-01, 0e+00, 1.5e+03]");
  EXPECT_EQ(printed(array<std::int32_t>({1500}, {1})), "Array i32 [1] [1500]");
}

// Every finite half is written so that it is read again, and no decimal with a digit fewer is: of
// those, the one below and the one above are nearest.
template <class T>
void expect_shortest() {
  std::vector<T> halves;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    T half;
    half.bits = static_cast<std::uint16_t>(bits);
    if (std::isfinite(static_cast<float>(half))) halves.push_back(half);
  }
  const auto count = static_cast<std::int64_t>(halves.size());
  const WithPrintOptions options(
      {.threshold = count, .line_width = INT64_MAX / 2, .scientific = true});
  const std::string text = printed(Array::from_data(halves, {count}));
  std::istringstream words(text.substr(text.find('[', text.find(']')) + 1));
  for (const T half : halves) {
    std::string word;
    ASSERT_TRUE(words >> word);
    word.pop_back();
    const auto names = [&](double decimal) {
      return T(static_cast<float>(decimal)).bits == half.bits;
    };
    ASSERT_TRUE(names(std::stod(word))) << word << " for " << half.bits;
    const std::size_t end = word.find('e'), point = word.find('.');
    if (point == std::string::npos) continue;
    const auto digits = static_cast<int>(end - point) - 2;  // after the point
    const std::string shorter = word.substr(0, end - 1) + word.substr(end);
    const double sign = word[0] == '-' ? -1 : 1;
    const double above =
        std::stod(shorter) + sign * std::pow(10.0, std::stoi(word.substr(end + 1)) - digits);
    ASSERT_FALSE(names(std::stod(shorter))) << word << " for " << half.bits;
    ASSERT_FALSE(names(above)) << word << " for " << half.bits;
  }
}

TEST(PrintOptions, HalvesHaveTheFewestDigitsOfTheirDtype) {
  expect_shortest<float16>();
  expect_shortest<bfloat16>();
  const Array x = array<float>({0.1F, 1.0F / 3, -0.015625F, 2049, 1e-7F}, {5});
  const WithPrintOptions options({.precision = 8});
  EXPECT_EQ(printed(cast(x, DType::f16)), "Array f16 [5] [0.1, 0.3333, -0.01563, 2048, 1e-07]");
  EXPECT_EQ(printed(cast(x, DType::bf16)), "Array bf16 [5] [0.1, 0.334, -0.0156, 2048, 1e-07]");
  const WithPrintOptions fewer({.precision = 2});
  EXPECT_EQ(printed(cast(x, DType::f16)), "Array f16 [5] [0.1, 0.33, -0.02, 2048, 1e-07]");
}

TEST(PrintOptions, OfMoreThanTheThresholdTheEdgesAreShown) {
  const WithPrintOptions options({.threshold = 5, .edge_items = 1});
  EXPECT_EQ(printed(arange(0, 5)), "Array i64 [5] [0, 1, 2, 3, 4]");
  EXPECT_EQ(printed(arange(0, 6)), "Array i64 [6] [0, ..., 5]");
  EXPECT_EQ(printed(reshape(arange(0, 6), {3, 2})), "Array i64 [3, 2]\n[[0, 1],\n ...,\n [4, 5]]");
  const WithPrintOptions wide({.threshold = 0, .edge_items = 1000});
  EXPECT_EQ(printed(arange(0, 4)), "Array i64 [4] [0, 1, 2, 3]");
}

TEST(PrintOptions, ALineEndsAtItsWidth) {
  const WithPrintOptions options({.line_width = 12});
  EXPECT_EQ(printed(reshape(arange(0, 12), {2, 6})),
            "Array i64 [2, 6]\n[[0, 1, 2,\n  3, 4, 5],\n [6, 7, 8,\n  9, 10,\n  11]]");
  const WithPrintOptions narrow({.line_width = 1});
  EXPECT_EQ(printed(arange(8, 11)), "Array i64 [3] [8,\n               9,\n               10]");
  const WithPrintOptions usual({});
  const std::string text = printed(reshape(arange(0, 900), {9, 100}));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 75U) << line;
  EXPECT_NE(text.find(" 899]]"), std::string::npos);
}

TEST(PrintOptions, AThreadHasItsOwnWithinAScope) {
  const Array x = array<double>({0.125}, {1});
  const WithPrintOptions mine({.precision = 1});
  std::string other;
  std::thread([&] {
    const WithPrintOptions its({.precision = 2});
    other = printed(x);
  }).join();
  EXPECT_EQ(other, "Array f64 [1] [0.12]");
  EXPECT_EQ(printed(x), "Array f64 [1] [0.1]");
}

TEST(PrintOptions, SetForAllThreads) {
  const PrintOptions before = print_options();
  set_print_options({.precision = 1});
  std::string other;
  std::thread([&] { other = printed(array<double>({0.125}, {1})); }).join();
  set_print_options(before);
  EXPECT_EQ(other, "Array f64 [1] [0.1]");
  EXPECT_EQ(print_options(), before);
  EXPECT_EQ(printed(array<double>({0.125}, {1})), "Array f64 [1] [0.125]");
}

TEST(PrintOptions, WhatHasNoMeaningIsAnError) {
  for (const PrintOptions& wrong : {PrintOptions{.precision = -1}, PrintOptions{.precision = 101},
                                    PrintOptions{.threshold = -1}, PrintOptions{.edge_items = 0},
                                    PrintOptions{.line_width = 0}}) {
    const PrintOptions before = print_options();
    using check::error_of;
    const std::string set =
        error_of(ErrorCode::invalid_argument, [&] { set_print_options(wrong); });
    EXPECT_EQ(set.rfind("set_print_options: ", 0), 0u) << set;
    const std::string with =
        error_of(ErrorCode::invalid_argument, [&] { const WithPrintOptions scope(wrong); });
    EXPECT_EQ(with.rfind("WithPrintOptions: ", 0), 0u) << with;
    EXPECT_EQ(print_options(), before);
  }
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
