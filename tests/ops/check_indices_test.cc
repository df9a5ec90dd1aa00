#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "error_text.h"
#include "graph/switches.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using check::error_of;

class CheckedIndices : public ::testing::Test {
 protected:
  void SetUp() override { switches().check_indices = true; }
  void TearDown() override { switches().check_indices = false; }

  static Array ids(const std::vector<std::int64_t>& values) {
    return Array::from_data(values, {static_cast<std::int64_t>(values.size())});
  }
};

TEST_F(CheckedIndices, NameTheOpAndTheIndex) {
  const Array x = ones({4, 2});
  EXPECT_EQ(error_of([&] { (void)select(x, ids({0, 7}), 0); }),
            "select: index out of range; got 7, expected 0 to 3");
  EXPECT_EQ(error_of([&] { (void)embedding(x, ids({-1})); }),
            "embedding: index out of range; got -1, expected 0 to 3");
  // As a position of all elements, (0, 5) would be inside.
  const Array beside = reshape(ids({0, 5}), {1, 2});
  EXPECT_EQ(error_of([&] { (void)gather_nd(x, beside); }),
            "gather_nd: index out of range; got 5, expected 0 to 1");
  EXPECT_EQ(error_of([&] { (void)scatter_nd(x, beside, ones({1}), IndexingUpdateOp::assign); }),
            "scatter_nd: index out of range; got 5, expected 0 to 1");
  error_of([&] { (void)gather(x, full({1, 2}, std::int64_t{4}, DType::i64), 0); });
  error_of([&] { (void)select_add(x, ids({4}), ones({1, 2}), 0); });
  error_of([&] { (void)cross_entropy(x, ids({0, 1, 2, 0})); });
}

TEST_F(CheckedIndices, RightOnesPass) {
  const Array x = ones({4, 2}).require_grad();
  const Array taken = backward(sum(select(x, ids({0, 3}), 0))).get(x);
  check::expect_values(taken, {4, 2}, {1, 1, 0, 0, 0, 0, 1, 1});
  EXPECT_NEAR(cross_entropy(x, ids({0, 1, -100, 0})).item(), std::log(2), 1e-6);
  EXPECT_EQ(select(x, ids({}), 0).shape(), Shape({0, 2}));
}

TEST(UncheckedIndices, AreNotRead) {
  const std::vector<std::int64_t> wrong = {9};
  EXPECT_NO_THROW(select(ones({4, 2}), Array::from_data(wrong, {1}), 0).eval());
}

TEST(Streams, TakeShapesDTypesAndDevices) {
  std::ostringstream out;
  out << Shape{2, 3} << " " << DType::bf16 << " " << Device::cpu();
  EXPECT_EQ(out.str(), "[2, 3] bf16 cpu:0");
}

}  // namespace
}  // namespace hearth
