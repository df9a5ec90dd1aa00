#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "error_text.h"
#include "hearth/grad.h"
#include "hearth/indexing.h"

namespace hearth {
namespace {

Array counted(const Shape& shape) { return reshape(arange(0, element_count(shape)), shape); }

std::string error_of(const Array& x, std::initializer_list<IndexWord> words) {
  return check::error_of([&] { index(x, words); });
}

TEST(Index, WordsNameAxesInOrder) {
  const Array x = counted({2, 3, 4});
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
  const Array x = counted({2, 3});
  EXPECT_NE(error_of(x, {2}).find("position out of range; got 2 of axis 0"), std::string::npos);
  EXPECT_NE(error_of(x, {all, -4}).find("got -4 of axis 1"), std::string::npos);
  EXPECT_NE(error_of(x, {0, 0, 0}).find("more words than axes"), std::string::npos);
  EXPECT_NE(error_of(x, {ellipsis, ellipsis}).find("expected at most 1"), std::string::npos);
  EXPECT_THROW(index(Array(), {0}), Error);
}

}  // namespace
}  // namespace hearth
