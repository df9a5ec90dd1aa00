// Elements of HostTensor, dense and seen through strides.
#include <gtest/gtest.h>

#include <vector>

#include "error_text.h"
#include "hearth/custom_op.h"

namespace hearth {
namespace {

using check::error_of;

HostTensor over(std::vector<float>& data, const Shape& shape, const Strides& strides,
                std::int64_t first = 0) {
  return {reinterpret_cast<std::byte*>(data.data() + first), DType::f32, shape, strides};
}

class HostTensors : public testing::Test {
 protected:
  std::vector<float> data_{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
};

TEST_F(HostTensors, ElementsAreInRowMajorOrderWhateverTheStrides) {
  const Shape shape{2, 3, 2};
  for (const Strides& strides : {Strides{6, 2, 1}, Strides{1, 4, 2}, Strides{0, 2, 0}}) {
    const HostTensor tensor = over(data_, shape, strides);
    std::int64_t number = 0;
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) {
        for (std::int64_t k = 0; k < 2; ++k) {
          const auto at = i * strides[0] + j * strides[1] + k * strides[2];
          const float expected = data_[static_cast<std::size_t>(at)];
          EXPECT_EQ(tensor.at<float>(i, j, k), expected);
          EXPECT_EQ(tensor.at<float>(number++), expected);
        }
      }
    }
  }
  const HostTensor backwards = over(data_, {4}, {-1}, 3);
  EXPECT_EQ(backwards.at<float>(0), 3);
  EXPECT_EQ(backwards.at<float>(3), 0);
  EXPECT_EQ(over(data_, {}, {}, 5).at<float>(0), 5);
}

TEST_F(HostTensors, AreWrittenTo) {
  const HostTensor tensor = over(data_, {3, 4}, {4, 1});
  tensor.at<float>(1, 2) = -1;
  tensor.at<float>(11) = -2;
  EXPECT_EQ(data_[6], -1);
  EXPECT_EQ(data_[11], -2);
}

TEST_F(HostTensors, RefuseWhatIsNotThere) {
  const HostTensor tensor = over(data_, {3, 4}, {4, 1});
  EXPECT_EQ(error_of(ErrorCode::dtype, [&] { tensor.at<double>(0); }),
            "at: T does not store the tensor's dtype; got a tensor of f32, expected f64, as T");
  const auto missing = [&](auto... indices) {
    return error_of(ErrorCode::invalid_argument, [&] { tensor.at<float>(indices...); });
  };
  const std::string expected = ", expected one of shape [3, 4]";
  EXPECT_EQ(missing(12), "at: no such element; got 12" + expected);
  EXPECT_EQ(missing(-1), "at: no such element; got -1" + expected);
  EXPECT_EQ(missing(0, 4), "at: no such element; got [0, 4]" + expected);
  EXPECT_EQ(missing(-1, 0), "at: no such element; got [-1, 0]" + expected);
  EXPECT_EQ(missing(0, 0, 0), "at: no such element; got [0, 0, 0]" + expected);
  for (const Shape& none : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{3, 0, 2}}) {
    const HostTensor empty = over(data_, none, contiguous_strides(none));
    EXPECT_THROW(empty.at<float>(0), Error) << to_string(none);
  }
  EXPECT_THROW(over(data_, {}, {}).at<float>(1), Error);
  EXPECT_EQ(error_of(ErrorCode::invalid_argument, [] { HostTensor().at<float>(0); }),
            "at: no such element; got 0 of an input that the call leaves out, "
            "expected one that is given");
}

}  // namespace
}  // namespace hearth
