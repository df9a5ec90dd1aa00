// Deformable convolution, against PyTorch's grid_sample, conv() and written-out cases.
#include "hearth/ops/deform_conv.h"
#include "ops/channel_golden.h"

namespace hearth {
namespace {

using namespace check;
using In = std::span<const Array>;

const DeformConvOptions kPlain = {};
const DeformConvOptions kGroups = {{2, 1}, {1, 2}, {1, 2}, 2, 2};
const DeformConvOptions kOtherGroups = {{1, 2}, {2, 0}, {2, 1}, 1, 4};

TEST(DeformConv, AsTorch) {
  const std::vector<std::string> labels = {"x", "offset", "weight", "mask", "bias"};
  for (const auto& [name, options] : {std::pair{"plain", &kPlain}, std::pair{"groups", &kGroups},
                                      std::pair{"other_groups", &kOtherGroups}}) {
    // Coordinates of f32 are off by 1e-6 of an element, and slopes are large.
    expect_as_torch(
        std::string("deform_conv2d_") + name, labels,
        [&](In in) { return deform_conv2d(in[0], in[1], in[2], in[3], in[4], *options); }, 1e-10,
        1e-3);
  }
}

TEST(DeformConv, IsConvWithoutOffsets) {
  const Array x = random_array({2, 4, 6, 5}),
              weight = random_array({6, 2, 3, 2}, DType::f64, -1, 1, 2);
  const Array bias = random_array({6}, DType::f64, -1, 1, 3);
  const ConvOptions window = {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2};
  const Array expected = conv(x, weight, bias, window);
  const Array offset = zeros({2, 2 * 2 * 6, expected.shape()[2], expected.shape()[3]}, DType::f64);
  expect_values(deform_conv2d(x, offset, weight, Array(), bias, kGroups), expected.shape(),
                expected.to_doubles());
}

TEST(DeformConv, AllFiveGradients) {
  // What an earlier system left out: only the bias had a gradient there.
  const Array x = random_array({2, 4, 4, 3}),
              weight = random_array({2, 2, 2, 2}, DType::f64, -1, 1, 2);
  const DeformConvOptions options = {{1, 2}, {1, 1}, {1, 1}, 2, 2};
  const Array offset = random_array({2, 16, 5, 2}, DType::f64, -1.3, 1.3, 3);
  const Array mask = random_array({2, 8, 5, 2}, DType::f64, 0, 1, 4);
  const Array bias = random_array({2}, DType::f64, -1, 1, 5);
  const Many f = [&](In in) { return deform_conv2d(in[0], in[1], in[2], in[3], in[4], options); };
  check_gradients(f, {x, offset, weight, mask, bias});
  std::vector<Array> leaves = {x, offset, weight, mask, bias};
  for (Array& leaf : leaves) leaf = leaf.require_grad();
  const Gradients gradients = backward(weigh(f(leaves)));
  for (const Array& leaf : leaves) {
    double largest = 0;
    for (const double g : gradients.at(leaf).to_doubles()) largest = std::max(largest, std::abs(g));
    EXPECT_GT(largest, 1e-3);
  }
}

TEST(DeformConv, SecondGradients) {
  const Array x = random_array({1, 2, 3, 3}),
              weight = random_array({1, 2, 2, 1}, DType::f64, -1, 1, 2);
  const Array offset = random_array({1, 4, 2, 3}, DType::f64, 0.1, 0.7, 3);
  check_second_gradients([](In in) { return deform_conv2d(in[0], in[1], in[2]); },
                         {x, offset, weight});
}

TEST(DeformConv, ReadsNothingOutside) {
  // One tap: the value at the place that the offset names.
  const Array x = array({1, 2, 3, 4}, {1, 1, 2, 2}), one = ones({1, 1, 1, 1}, DType::f64);
  const auto at = [&](double y, double z) {
    Values offset(8, 0);
    offset[0] = y, offset[4] = z;
    return deform_conv2d(x, array(offset, {1, 2, 2, 2}), one).to_doubles()[0];
  };
  EXPECT_EQ(at(0, 0), 1);
  EXPECT_EQ(at(1, 1), 4);
  EXPECT_DOUBLE_EQ(at(0.25, 0.5), 0.75 * 1.5 + 0.25 * 3.5);
  EXPECT_DOUBLE_EQ(at(-0.25, 0), 0.75);
  EXPECT_DOUBLE_EQ(at(1.75, 1), 1);
  EXPECT_EQ(at(-1, 0), 0);
  EXPECT_EQ(at(0, 2), 0);
  for (const double far : {-5.0, 5.0, 1e300, -1e300, kInf, -kInf}) {
    EXPECT_EQ(at(far, 0), 0) << far;
    EXPECT_EQ(at(0, far), 0) << far;
  }
  EXPECT_TRUE(std::isnan(at(kNan, 0)));
  // Places that are not read do not spoil what is, nor its gradient.
  const Array spoiled = array({1, kInf, kNan, 4}, {1, 1, 2, 2});
  const Array far = array({0, 0, 0, 0, 0, 9, kInf, -kInf}, {1, 2, 2, 2}).require_grad();
  const Array read = deform_conv2d(spoiled, far, one);
  const Values found = read.to_doubles();
  EXPECT_EQ(found[1], 0);
  EXPECT_EQ(found[2], 0);
  EXPECT_EQ(found[3], 0);
  const Values gradient = backward(sum(narrow(flatten(read), 0, 1, 3))).get(far).to_doubles();
  for (const std::size_t i : {1, 2, 3, 5, 6, 7}) EXPECT_EQ(gradient[i], 0) << i;
}

TEST(DeformConv, HalvesAndNothing) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Array x = random_array({1, 2, 4, 4}, dtype), weight = random_array({2, 2, 3, 3}, dtype);
    const Array offset = random_array({1, 18, 2, 2}, dtype);
    const Array exact =
        deform_conv2d(cast(x, DType::f64), cast(offset, DType::f64), cast(weight, DType::f64));
    const Array out = deform_conv2d(x, offset, weight);
    EXPECT_EQ(out.dtype(), dtype);
    expect_close(out, exact.to_doubles(), tolerance(dtype) * 4);
  }
  const Array kernel = ones({2, 3, 1, 1});
  EXPECT_EQ(deform_conv2d(zeros({0, 3, 4, 4}), zeros({0, 2, 4, 4}), kernel).shape(),
            (Shape{0, 2, 4, 4}));
  expect_values(deform_conv2d(zeros({1, 0, 2, 1}), zeros({1, 2, 2, 1}), ones({1, 0, 1, 1}), Array(),
                              ones({1})),
                {1, 1, 2, 1}, {1, 1});
  EXPECT_EQ(deform_conv2d(zeros({1, 3, 2, 2}), zeros({1, 2, 2, 2}), ones({0, 3, 1, 1})).shape(),
            (Shape{1, 0, 2, 2}));
  const DeformConvOptions padded = {.padding = {1}};
  expect_values(deform_conv2d(zeros({1, 1, 0, 0}), zeros({1, 8, 1, 1}), ones({1, 1, 2, 2}), Array(),
                              Array(), padded),
                {1, 1, 1, 1}, {0});
}

TEST(DeformConv, Refuses) {
  const Array x = zeros({1, 4, 5, 5}), weight = zeros({2, 4, 3, 3}), offset = zeros({1, 18, 3, 3});
  const auto refused = [&](ErrorCode code, const DeformConvOptions& options) {
    expect_error(code, [&] { (void)deform_conv2d(x, offset, weight, Array(), Array(), options); });
  };
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, most, -most - 1}) {
    refused(ErrorCode::invalid_argument, {.stride = {bad}});
    refused(ErrorCode::invalid_argument, {.dilation = {1, bad}});
    refused(ErrorCode::invalid_argument, {.weight_groups = bad});
    refused(ErrorCode::invalid_argument, {.offset_groups = bad});
  }
  refused(ErrorCode::invalid_argument, {.padding = {-1}});
  refused(ErrorCode::invalid_argument, {.padding = {most}});
  refused(ErrorCode::invalid_argument, {.stride = {1, 1, 1}});
  refused(ErrorCode::shape, {.stride = {2}});
  refused(ErrorCode::shape, {.dilation = {3}});
  refused(ErrorCode::shape, {.offset_groups = 2});
  refused(ErrorCode::shape, {.weight_groups = 2});
  const auto of = [&](ErrorCode code, const Array& a, const Array& b, const Array& c,
                      const Array& d = Array(), const Array& e = Array()) {
    expect_error(code, [&] { (void)deform_conv2d(a, b, c, d, e); });
  };
  of(ErrorCode::shape, zeros({4, 5, 5}), offset, weight);
  of(ErrorCode::shape, x, zeros({1, 17, 3, 3}), weight);
  of(ErrorCode::shape, x, offset, zeros({2, 3, 3, 3}));
  of(ErrorCode::shape, x, offset, zeros({2, 4, 0, 3}));
  of(ErrorCode::shape, x, offset, zeros({2, 4, 6, 6}));
  of(ErrorCode::shape, x, offset, weight, zeros({1, 18, 3, 3}));
  of(ErrorCode::shape, x, offset, weight, Array(), zeros({3}));
  of(ErrorCode::dtype, x, cast(offset, DType::f64), weight);
  of(ErrorCode::dtype, x, offset, cast(weight, DType::f64));
  of(ErrorCode::dtype, cast(x, DType::i32), offset, weight);
  of(ErrorCode::invalid_argument, x, Array(), weight);
  of(ErrorCode::invalid_argument, Array(), offset, weight);
}

}  // namespace
}  // namespace hearth
