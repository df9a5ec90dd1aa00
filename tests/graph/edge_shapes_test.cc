// Rank 0 and extents of 0, through every kind of op.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/counted.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

class EdgeShapes : public ::testing::TestWithParam<const char*> {
 protected:
  Device device_ = Device::named(GetParam());
  Array empty(const Shape& shape) const {
    return Array::from_data(std::vector<float>(), shape, device_);
  }
};

TEST_P(EdgeShapes, ElementwiseOnNothing) {
  const Array x = empty({0, 3});
  EXPECT_EQ(add(x, x).to_vector<float>().size(), 0u);
  EXPECT_EQ(add(x, iota({3}, device_)).shape(), (Shape{0, 3}));
  EXPECT_EQ(add(x, iota({1, 3}, device_)).to_vector<float>().size(), 0u);
  EXPECT_EQ(tanh(mul(x, 2.0)).eval().size(), 0);
  EXPECT_EQ(cast(x, DType::i32).to_vector<std::int32_t>().size(), 0u);
  EXPECT_EQ(where(greater(x, 0.0), x, 1.0).eval().size(), 0);
}

TEST_P(EdgeShapes, ReductionsOverNothing) {
  const Array x = empty({0, 3});
  EXPECT_EQ(sum(x, {0}).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(prod(x, {0}).to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(sum(mul(x, 2.0)).item(), 0);
  EXPECT_EQ(any(x).item(), 0);
  EXPECT_EQ(all(x).item(), 1);
  EXPECT_TRUE(std::isnan(mean(x).item()));
  EXPECT_EQ(sum(x, {1}).to_vector<float>().size(), 0u);
  EXPECT_THROW((void)max(x), Error);
  EXPECT_EQ(max(x, {1}).to_vector<float>().size(), 0u);
  EXPECT_EQ(argmax(x, 1).to_vector<std::int64_t>().size(), 0u);
  EXPECT_THROW((void)argmax(x, 0), Error);
}

TEST_P(EdgeShapes, ViewsOfNothing) {
  const Array x = empty({0, 3});
  EXPECT_EQ(reshape(x, {3, 0, 5}).to_vector<float>().size(), 0u);
  EXPECT_EQ(transpose(x).eval().shape(), (Shape{3, 0}));
  EXPECT_EQ(flip(x, {0, 1}).eval().size(), 0);
  EXPECT_EQ(slice(iota({4}, device_), {{4, 4}}).to_vector<float>().size(), 0u);
  EXPECT_EQ(slice(iota({4}, device_), {{2, 2, -1}}).eval().size(), 0);
  EXPECT_EQ(cat({x, iota({2, 3}, device_), x}, 0).to_vector<float>().size(), 6u);
  EXPECT_EQ(add(cat({x, x}, 0), 1.0).eval().shape(), (Shape{0, 3}));
  EXPECT_EQ(expand(reshape(x, {1, 0, 3}), {4, 0, 3}).eval().size(), 0);
}

TEST_P(EdgeShapes, ContractionsOverNothing) {
  const Array product = matmul(empty({2, 0}), empty({0, 3}));
  EXPECT_EQ(product.to_vector<float>(), (std::vector<float>(6, 0)));
  EXPECT_EQ(matmul(empty({0, 4}), iota({4, 3}, device_)).eval().shape(), (Shape{0, 3}));
  EXPECT_EQ(add(matmul(empty({2, 0}), empty({0, 3})), 1.0).to_vector<float>(),
            std::vector<float>(6, 1));
  EXPECT_EQ(softmax(empty({0, 3}), 1).eval().size(), 0);
  for (const int axis : {0, 1}) {  // the other axis too small and large enough for columns
    EXPECT_EQ(softmax(empty({0, 5, 40}), axis).eval().size(), 0);
    EXPECT_EQ(log_softmax(empty({0, 5, 40}), axis).eval().size(), 0);
    EXPECT_EQ(logsumexp(empty({0, 5, 40}), 0).to_vector<float>()[0],
              -std::numeric_limits<float>::infinity());
  }
  EXPECT_EQ(rms_norm(empty({0, 3})).eval().size(), 0);
}

TEST_P(EdgeShapes, IndexingNothing) {
  const Array x = iota({4, 3}, device_);
  const Array none = Array::from_data(std::vector<std::int64_t>(), {0}, device_);
  EXPECT_EQ(select(x, none, 0).eval().shape(), (Shape{0, 3}));
  EXPECT_EQ(select_add(x, none, empty({0, 3}), 0).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(slice_assign(x, {{1, 1}}, empty({0, 3})).to_vector<float>(), x.to_vector<float>());
}

TEST_P(EdgeShapes, RankZero) {
  const Array x = Array::from_data(std::vector<float>{3}, {}, device_);
  EXPECT_EQ(x.rank(), 0);
  EXPECT_EQ(add(x, x).item(), 6);
  EXPECT_EQ(sum(x).item(), 3);
  EXPECT_EQ(max(mul(x, 2.0)).item(), 6);
  EXPECT_EQ(reshape(x, {1, 1}).to_vector<float>(), std::vector<float>{3});
  EXPECT_EQ(expand(x, {2, 2}).to_vector<float>(), std::vector<float>(4, 3));
  EXPECT_EQ(add(iota({2, 2}, device_), x).to_vector<float>(), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(permute(x, {}).item(), 3);
  EXPECT_EQ(stack({x, x}, 0).to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(cast(x, DType::i64).item(), 3);
  EXPECT_EQ(sum(matmul(iota({3}, device_), iota({3}, device_))).item(), 5);
}

TEST_P(EdgeShapes, NumbersAlone) {
  EXPECT_EQ(Array(2.5).item(), 2.5);
  EXPECT_EQ(add(Array(2.0), Array(3.0)).item(), 5);
  EXPECT_EQ(sum(full({3, 3}, 2.0, DType::f32, device_)).item(), 18);
  EXPECT_EQ(full({0, 2}, 1.0, DType::f32, device_).to_vector<float>().size(), 0u);
  EXPECT_EQ(full({2}, 7, DType::i64, device_).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{7, 7}));
  EXPECT_EQ(full({3}, true, DType::bool_, device_).to_vector<bool>(), std::vector<bool>(3, true));
  EXPECT_EQ(transpose(full({2, 3}, 4.0, DType::f32, device_)).eval().to_vector<float>(),
            std::vector<float>(6, 4));
}

INSTANTIATE_TEST_SUITE_P(Devices, EdgeShapes, ::testing::Values("cpu", "hostile"));

}  // namespace
}  // namespace hearth::testing
