// Products of a matrix and a vector on the device that runs kernels, against plain loops in f64:
// rows shared by simdgroups and rows of their own, odd numbers of both, batches, vectors that begin
// between two packets.
#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

class MatvecRuns : public ::testing::Test {
 protected:
  void SetUp() override { Device::set_default(hearth::testing::kernel_device_under_test()); }
  void TearDown() override { Device::set_default(before_); }

  // w [batch, rows, length] times x [batch, length].
  static Values expected(const Array& w, const Array& x) {
    const Values weights = w.to_doubles(), factors = x.to_doubles();
    const auto length = static_cast<std::size_t>(w.shape().back());
    const auto rows = static_cast<std::size_t>(w.shape(-2));
    Values out;
    for (std::size_t row = 0; row < weights.size() / length; ++row) {
      double sum = 0;
      const std::size_t batch = factors.size() == length ? 0 : row / rows;
      for (std::size_t i = 0; i < length; ++i) {
        sum += weights[row * length + i] * factors[batch * length + i];
      }
      out.push_back(sum);
    }
    return out;
  }

 private:
  Device before_ = Device();
};

TEST_F(MatvecRuns, RowsOfAnyNumberAndLength) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64}) {
    for (const auto& [rows, length] :
         {std::array<std::int64_t, 2>{1, 8}, {3, 16}, {5, 1000}, {33, 4096}, {4, 9000}}) {
      const Array w = random_array({rows, length}, dtype, -1, 1, 1);
      const Array x = random_array({length}, dtype, -1, 1, 2);
      const double allowed = 4 * tolerance(dtype);
      expect_close(matmul(unsqueeze(x, {0}), transpose(w)), expected(w, x), allowed);
      expect_close(matmul(w, unsqueeze(x, {1})), expected(w, x), allowed);
    }
  }
}

TEST_F(MatvecRuns, AreNoProductsOfMatrices) {
  Device::set_default(Device::named("sim"));
  const Array w = random_array({33, 96}, DType::f32, -1, 1, 1);
  const Array x = random_array({96}, DType::f32, -1, 1, 2);
  hearth::testing::expect_ran(
      "matvec_F32", [&] { expect_close(matmul(w, unsqueeze(x, {1})), expected(w, x), 1e-5); });
}

TEST_F(MatvecRuns, Batches) {
  const Array w = random_array({3, 7, 64}, DType::f32, -1, 1, 1);
  const Array x = random_array({3, 1, 64}, DType::f32, -1, 1, 2);
  const Array same = random_array({1, 64}, DType::f32, -1, 1, 3);
  expect_close(matmul(x, transpose(w)), expected(w, x), 1e-5);
  expect_close(matmul(same, transpose(w)), expected(w, same), 1e-5);
}

TEST_F(MatvecRuns, ViewsWithNanAround) {
  // Whole packets from one row to the next, but neither rows nor vector begin at one.
  Values memory(40 * 72, kNan), vector(80, kNan);
  for (std::size_t row = 0; row < 40; ++row) {
    for (std::size_t i = 3; i < 67; ++i) memory[row * 72 + i] = static_cast<double>(i % 5) - 2;
  }
  for (std::size_t i = 5; i < 69; ++i) vector[i] = static_cast<double>(i % 3) - 1;
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const Array w = narrow(array(memory, {40, 72}, dtype), 1, 3, 64);
    const Array x = narrow(array(vector, {1, 80}, dtype), 1, 5, 64);
    expect_close(matmul(x, transpose(w)), expected(contiguous(w), contiguous(x)), 1e-9);
  }
}

}  // namespace
}  // namespace hearth
