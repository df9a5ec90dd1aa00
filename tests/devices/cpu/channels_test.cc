// Statistics and sums of channels on the CPU, alone, against plain loops in f64: any strides,
// positions that lie together or do not, more of them than a block has.
#include "devices/kernel_case.h"

namespace hearth::cpu {
namespace {

// The elements of x in the order of channels.
std::vector<Values> by_channel(const TestTensor& x) {
  const Shape& shape = x.spec.shape;
  std::vector<Values> channels(static_cast<std::size_t>(shape[1]));
  std::int64_t inner = 1;
  for (int i = 2; i < shape.rank(); ++i) inner *= shape[i];
  for (std::int64_t i = 0; i < x.count(); ++i) {
    channels[static_cast<std::size_t>(i / inner % shape[1])].push_back(x[i]);
  }
  return channels;
}

void check(DType dtype, const Shape& shape, double centre, Layout layout) {
  const std::int64_t count = element_count(shape);
  Values values = normal_values(count);
  for (double& value : values) value += centre;
  const TestTensor x(dtype, shape, values, layout), g(dtype, shape, normal_values(count), layout);
  const TestTensor about(dtype, {shape[1]}, normal_values(shape[1]), layout);
  const std::vector<Values> xs = by_channel(x), gs = by_channel(g);
  Values mean, variance, sums, products;
  for (std::size_t c = 0; c < xs.size(); ++c) {
    const auto n = static_cast<double>(xs[c].size());
    double total = 0, squares = 0, sum = 0, product = 0;
    for (const double value : xs[c]) total += value;
    for (const double value : xs[c]) squares += (value - total / n) * (value - total / n);
    for (std::size_t i = 0; i < xs[c].size(); ++i) {
      sum += gs[c][i];
      product += gs[c][i] * (xs[c][i] - about[static_cast<std::int64_t>(c)]);
    }
    mean.push_back(total / n);
    variance.push_back(squares / n);
    sums.push_back(sum);
    products.push_back(product);
  }
  const DType wide = dtype == DType::f64 ? dtype : DType::f32;
  const std::vector<OutputSpec> vectors = {{wide, {shape[1]}}, {wide, {shape[1]}}};
  const std::vector<Values> moments = run_kernel(defs::channel_moments_op, {x}, Params(), vectors);
  expect_close(moments[0], mean, wide);
  expect_close(moments[1], variance, wide, 4);
  const std::vector<Values> both =
      run_kernel(defs::channel_sums_op, {g, x, about}, Params(), vectors);
  const double longest = count == 0 ? 1 : static_cast<double>(count / shape[1]);
  expect_close(both[0], sums, wide, 4 + std::sqrt(longest));
  expect_close(both[1], products, wide, (4 + std::sqrt(longest)) * (1 + std::abs(centre)));
}

TEST(CpuChannels, Sums) {
  for (const DType dtype : kFloats) {
    for (const Shape& shape : {Shape{4, 3}, Shape{1, 1}, Shape{2, 3, 5}, Shape{3, 8, 20},
                               Shape{2, 5, 70, 71}, Shape{900, 40}, Shape{2, 3, 0}, Shape{0, 3, 4},
                               Shape{3, 0, 4}, Shape{3, 200, 2}, Shape{2, 3, 2, 4, 5}}) {
      for (const Layout layout : {Layout::dense, Layout::shuffled}) {
        check(dtype, shape, 0, layout);
        check(dtype, shape, 3, layout);
      }
    }
  }
}

}  // namespace
}  // namespace hearth::cpu
