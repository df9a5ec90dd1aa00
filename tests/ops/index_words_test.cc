#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "error_text.h"
#include "graph/counted.h"
#include "hearth/grad.h"
#include "hearth/indexing.h"

namespace hearth {
namespace {

Array counting(const Shape& shape) { return reshape(arange(0, element_count(shape)), shape); }

std::string error_of(const Array& x, std::initializer_list<IndexWord> words) {
  return check::error_of([&] { (void)index(x, words); });
}

TEST(Index, WordsNameAxesInOrder) {
  const Array x = counting({2, 3, 4});
  EXPECT_EQ(index(x, {1, 2, 3}).item<std::int64_t>(), 23);
  EXPECT_EQ(index(x, {1, 2, 3}).shape(), Shape());
  EXPECT_EQ(index(x, {-1, all, at(-1)}).to_doubles(), (std::vector<double>{15, 19, 23}));
  EXPECT_EQ(index(x, {ellipsis, at(0)}).shape(), (Shape{2, 3}));
  EXPECT_EQ(index(x, {at(0), ellipsis}).shape(), (Shape{3, 4}));
  EXPECT_EQ(index(x, {new_axis, ellipsis, new_axis}).shape(), (Shape{1, 2, 3, 4, 1}));
  EXPECT_EQ(index(x, {at(1), new_axis, range(0, 3, 2), from(2)}).to_doubles(),
            (std::vector<double>{14, 15, 22, 23}));
  EXPECT_EQ(index(x, {}).shape(), x.shape());
  EXPECT_EQ(index(x, {to(0)}).shape(), (Shape{0, 3, 4}));
}

TEST(Index, AssignsWhereTheWordsPoint) {
  const Array x = zeros({2, 3});
  EXPECT_EQ(index_assign(x, {all, 1}, 5.0).to_doubles(), (std::vector<double>{0, 5, 0, 0, 5, 0}));
  const Array column = Array::from_data(std::vector<float>{1, 2}, {2});
  EXPECT_EQ(index_assign(x, {ellipsis, 2}, column).to_doubles(),
            (std::vector<double>{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(index_assign(x, {1}, ones({1})).to_doubles(), (std::vector<double>{0, 0, 0, 1, 1, 1}));
}

TEST(Index, IsDifferentiable) {
  const Array x = ones({2, 3}).require_grad();
  const Array y = index_assign(x, {0, 0}, 7.0);
  EXPECT_EQ(backward(sum(index(y, {0}) * 2.0)).get(x).to_doubles(),
            (std::vector<double>{0, 2, 2, 0, 0, 0}));
}

TEST(Index, SaysWhatIsWrong) {
  const Array x = counting({2, 3});
  EXPECT_NE(error_of(x, {2}).find("position out of range; got 2 of axis 0"), std::string::npos);
  EXPECT_NE(error_of(x, {all, -4}).find("got -4 of axis 1"), std::string::npos);
  EXPECT_NE(error_of(x, {0, 0, 0}).find("more words than axes"), std::string::npos);
  EXPECT_NE(error_of(x, {ellipsis, ellipsis}).find("expected at most 1"), std::string::npos);
  EXPECT_THROW((void)index(Array(), {0}), Error);
}

// ---- Lists of positions: tensor_detail::set

using tensor_detail::set;
using Positions = std::vector<std::int64_t>;

// A number of ops for each position would make long lists slow, and each length a plan of its own.
TEST(SetPositions, AnyNumberOfThemIsAConstantNumberOfOps) {
  const Array x = zeros({400, 2}).eval();
  const auto recorded = [&](std::int64_t count, const Array& value) {
    Positions at;
    for (std::int64_t i = 0; i < count; ++i) at.push_back(i * i % 400);
    return testing::counted([&] { set(x, at, value).eval(); }).recorded;
  };
  EXPECT_EQ(recorded(9, 1.0), recorded(300, 1.0));
  EXPECT_EQ(recorded(9, ones({2}).eval()), recorded(300, ones({2}).eval()));
  const std::int64_t few = recorded(9, ones({9, 2}).eval());
  EXPECT_EQ(few, recorded(300, ones({300, 2}).eval()));
  EXPECT_LT(few, 10);
}

// What a loop over the positions makes of rows of `width` elements.
std::vector<double> set_one_by_one(std::vector<double> rows, std::int64_t width,
                                   const Positions& at, const std::vector<double>& values) {
  const std::int64_t extent = static_cast<std::int64_t>(rows.size()) / width;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::int64_t row = at[i] < 0 ? at[i] + extent : at[i];
    for (std::int64_t k = 0; k < width; ++k) {
      rows[static_cast<std::size_t>(row * width + k)] =
          values[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(k)];
    }
  }
  return rows;
}

TEST(SetPositions, DoWhatALoopOverThemDoes) {
  const std::vector<Positions> lists = {{},
                                        {4},
                                        {0, 2},
                                        {3, 0},
                                        {1, 1},
                                        {-1, 3, 1},
                                        {2, 3, -2},
                                        {5, 4, 3, 2, 1, 0},
                                        {-1, 0, 3, -1, 3},
                                        {5, 4, 3, 2, 1, 0, -6}};
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i64, DType::u8}) {
    const Array x = check::array({9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12}, {6, 2}, dtype);
    for (const Positions& at : lists) {
      const auto count = static_cast<std::int64_t>(at.size());
      std::vector<double> values;
      for (std::int64_t i = 0; i < 2 * count; ++i) values.push_back(static_cast<double>(20 + i));
      const Array rows = check::array(values, {count, 2}, dtype);
      EXPECT_EQ(set(x, at, rows).to_doubles(), set_one_by_one(x.to_doubles(), 2, at, values));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 30 : 31;
      const Array row = check::array({30, 31}, {2}, dtype);
      EXPECT_EQ(set(x, at, row).to_doubles(), set_one_by_one(x.to_doubles(), 2, at, values));
      EXPECT_EQ(set(x, at, reshape(row, {1, 2})).dtype(), dtype);
      for (double& value : values) value = 1;
      EXPECT_EQ(set(x, at, 1).to_doubles(), set_one_by_one(x.to_doubles(), 2, at, values));
    }
  }
  const Array truths = check::array({1, 1, 0, 0}, {4}, DType::bool_);
  const Array values = check::array({0, 1}, {2}, DType::bool_);
  EXPECT_EQ(set(truths, Positions{0, -1}, values).to_doubles(), (std::vector<double>{0, 1, 0, 1}));
  EXPECT_EQ(set(truths, Positions{0, 1}, false).to_doubles(), (std::vector<double>{0, 0, 0, 0}));
}

TEST(SetPositions, KeepBitsAndRunOnDevices) {
  for (const Device device : testing::devices_under_test()) {
    const Array x = Array::from_data(std::vector<float>{-0.0f, NAN, 1, INFINITY}, {4}, device);
    const Array value = Array::from_data(std::vector<float>{-0.0f, 5}, {2}, device);
    const std::vector<float> got = set(x, Positions{2, 3}, value).to_vector<float>();
    EXPECT_TRUE(got[0] == 0 && std::signbit(got[0]));
    EXPECT_TRUE(std::isnan(got[1]));
    EXPECT_TRUE(got[2] == 0 && std::signbit(got[2]));
    EXPECT_EQ(got[3], 5);
  }
}

// The gradient of an overwritten row is 0, of x as of the values: also where it was not finite.
TEST(SetPositions, AreDifferentiable) {
  const Array x = Array::from_data(std::vector<double>{1, 2, INFINITY, 4}, {4}).require_grad();
  const Array value = Array::from_data(std::vector<double>{5, 6, 7}, {3}).require_grad();
  const Array weight = Array::from_data(std::vector<double>{10, 20, 30, 40}, {4});
  const auto gradients = backward(sum(set(x, Positions{2, 0, 2}, value) * weight));
  EXPECT_EQ(gradients.get(x).to_doubles(), (std::vector<double>{0, 20, 0, 40}));
  EXPECT_EQ(gradients.get(value).to_doubles(), (std::vector<double>{0, 10, 30}));
  const Array one = Array::from_data(std::vector<double>{5}, {1}).require_grad();
  EXPECT_EQ(backward(sum(set(x, Positions{2, 0}, one) * weight)).get(one).to_doubles(),
            (std::vector<double>{40}));
}

TEST(SetPositions, SayWhatIsWrong) {
  const Array x = zeros({3, 2});
  const auto said = [&](const Positions& at, const Array& value) {
    return check::error_of([&] { (void)set(x, at, value); });
  };
  EXPECT_NE(said({0, 3}, 1).find("set: position out of range; got 3"), std::string::npos);
  EXPECT_EQ(said({0, 1}, ones({3, 2})).rfind("set: ", 0), 0u);
  EXPECT_EQ(said({}, ones({3, 2})).rfind("set: ", 0), 0u);
  EXPECT_EQ(said({0, 1}, ones({2, 2}, DType::i32)).rfind("set: ", 0), 0u);
}

}  // namespace
}  // namespace hearth
