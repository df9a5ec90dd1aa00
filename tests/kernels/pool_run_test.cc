// Pools, resized images, distances and dropout on the simulator, against the CPU: planes one by one
// and several at a time, channels that lie together, in packets and not, windows that lanes share,
// numbers that need 64 bits.
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

class PoolRun : public ::testing::Test {
 protected:
  Device device_ = hearth::testing::kernel_device_under_test();
};

// x [batch, channels, rows, columns] as a view of memory in another order.
Array view_of(const Array& x, const Device& device, const Dims& order) {
  Dims back = order;
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  return permute(to_device(contiguous(permute(x, order)), device), back);
}

struct Window {
  const char* name;
  std::function<std::vector<Array>(const Array&)> run;
};

const std::vector<Window>& windows() {
  static const std::vector<Window> all = {
      {"avg_pool", [](const Array& x) { return std::vector{avg_pool(x, {2})}; }},
      {"padded avg_pool",
       [](const Array& x) {
         const AvgPoolOptions options = {.stride = {2, 1}, .padding = {1, 2}, .dilation = {2}};
         return std::vector{avg_pool(x, {3, 5}, options)};
       }},
      {"adaptive_avg_pool",
       [](const Array& x) { return std::vector{adaptive_avg_pool(x, {3, 2})}; }},
      {"global avg_pool", [](const Array& x) { return std::vector{adaptive_avg_pool(x, {1, 1})}; }},
      {"max_pool",
       [](const Array& x) {
         auto [values, indices] = max_pool_with_indices(x, {3}, {.stride = {2}, .padding = {1}});
         return std::vector{values, indices, max_pool(x, {2, 3}, {.stride = {1}})};
       }},
      {"uneven padding",
       [](const Array& x) {
         const AvgPoolOptions options = {
             .stride = {2}, .padding = {0, 1}, .padding_end = {2, 0}, .count_include_pad = false};
         auto [values, indices] = max_pool_with_indices(x, {4}, {.stride = {1}, .same = true});
         return std::vector{values, indices, avg_pool(x, {3}, options),
                            avg_pool(x, {2, 4}, {.stride = {1}, .same = true})};
       }},
      {"bilinear",
       [](const Array& x) {
         return std::vector{interpolate(x, {17, 9}, InterpolateMode::linear, false),
                            interpolate(x, {5, 31}, InterpolateMode::linear, true)};
       }},
      {"bicubic",
       [](const Array& x) {
         return std::vector{interpolate(x, {17, 9}, InterpolateMode::cubic, false)};
       }},
      {"nearest",
       [](const Array& x) {
         return std::vector{interpolate(x, {17, 9}, InterpolateMode::nearest, false),
                            interpolate(x, {5, 31}, InterpolateMode::nearest_exact, false)};
       }},
  };
  return all;
}

// Results, and the gradient of x for factors that differ.
std::vector<Array> with_gradient(const Window& window, const Array& x) {
  const Array leaf = x.detach().require_grad();
  std::vector<Array> all = window.run(leaf);
  Array total;
  for (const Array& each : all) {
    if (!is_float(each.dtype())) continue;
    const Array factors =
        reshape(arange(0, each.size(), 1, DType::i64, each.device()), each.shape());
    const Array weights = add(div(cast(remainder(factors, 13), each.dtype()), 8.0), 0.5);
    const Array part = sum(cast(mul(each, weights), DType::f32));
    total = total.defined() ? add(total, part) : part;
  }
  all.push_back(backward(total).get(leaf));
  return all;
}

TEST_F(PoolRun, AgreesWithTheCpuInEveryOrderOfMemory) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    for (const Shape& shape : {Shape{2, 16, 12, 14}, Shape{3, 3, 12, 14}, Shape{1, 1, 8, 300}}) {
      const Array x = random_array(shape, dtype, -2, 2, 7);
      for (const Window& window : windows()) {
        const std::vector<Array> expected = with_gradient(window, x);
        for (const Dims& order : {Dims{0, 1, 2, 3}, Dims{0, 2, 3, 1}, Dims{2, 1, 3, 0}}) {
          const std::vector<Array> got = with_gradient(window, view_of(x, device_, order));
          for (std::size_t i = 0; i < expected.size(); ++i) {
            expect_within(got[i].to_doubles(), expected[i].to_doubles(), 4 * tolerance(dtype),
                          std::string(window.name) + " " + std::string(name(dtype)) + " " +
                              to_string(shape) + " " + to_string(order));
          }
        }
      }
    }
  }
}

TEST_F(PoolRun, LargeStridesNeed64Bits) {
  const Array x = random_array({1, 2, 40}, DType::f32, -2, 2, 3);
  const std::int64_t far = std::int64_t{1} << 30;
  const auto run = [&](const Array& y) {
    return avg_pool(y, {3}, {.stride = {far}, .padding = {1}, .count_include_pad = false});
  };
  expect_close(run(to_device(x, device_)), run(x).to_doubles(), 1e-6);
  const auto most = [&](const Array& y) {
    return max_pool_with_indices(y, {2}, {.stride = {2 * far - 1}}).second;
  };
  expect_close(most(to_device(x, device_)), most(x).to_doubles(), 0);
}

TEST_F(PoolRun, DistancesOfRows) {
  for (const DType dtype : {DType::f32, DType::f16, DType::f64}) {
    for (const double p : {1.0, 2.0, kInf, 3.0}) {
      const Array a = random_array({2, 67, 150}, dtype, -1, 1, 5);
      const Array b = random_array({70, 150}, dtype, -1, 1, 6);
      const Values left = a.to_doubles(), right = b.to_doubles();
      Values expected;
      for (std::size_t i = 0; i < 2 * 67; ++i) {
        for (std::size_t j = 0; j < 70; ++j) {
          double sum = 0;
          for (std::size_t k = 0; k < 150; ++k) {
            const double d = std::abs(left[i * 150 + k] - right[j * 150 + k]);
            sum = p == kInf ? std::max(sum, d) : sum + std::pow(d, p);
          }
          expected.push_back(p == kInf ? sum : std::pow(sum, 1 / p));
        }
      }
      const std::string what = std::string(name(dtype)) + " " + std::to_string(p);
      expect_close(cdist(a, b, p), expected, 2 * tolerance(dtype), "cpu " + what);
      expect_close(cdist(to_device(a, device_), to_device(b, device_), p), expected,
                   2 * tolerance(dtype), what);
      const Array turned = transpose(to_device(contiguous(transpose(a)), device_));
      expect_close(cdist(turned, view_of(b, device_, {1, 0}), p), expected, 2 * tolerance(dtype),
                   "columns " + what);
    }
  }
}

// Products of rows would lose all of these distances.
TEST_F(PoolRun, DistancesOfNearRowsAreExact) {
  const std::int64_t n = 70, d = 40;
  Values points;
  for (std::int64_t i = 0; i < n * d; ++i)
    points.push_back(4096 + (i % d == 0 ? i / d : 0) / 1024.0);
  const Array x = array(points, {n, d}, DType::f32);
  Values expected;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) expected.push_back(std::abs(i - j) / 1024.0);
  }
  expect_close(cdist(x, x), expected, 0);
  expect_close(cdist(to_device(x, device_), to_device(x, device_)), expected, 1e-7);
  Values odd = points;
  odd[3] = kNan, odd[static_cast<std::size_t>(d)] = kInf;
  const Array y = array(odd, {n, d}, DType::f32);
  for (const double p : {1.0, 2.0, kInf}) {
    for (const Device& device : {Device::cpu(), device_}) {
      const Values got = cdist(to_device(y, device), to_device(y, device), p).to_doubles();
      for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
        EXPECT_TRUE(std::isnan(got[j])) << p;
        const double other = got[static_cast<std::size_t>(n) + j];
        EXPECT_TRUE(j < 2 ? std::isnan(other) : other == kInf) << p << " " << j << " " << other;
      }
    }
  }
}

// Of 16 bits: equal points, some a little apart far from 0, rows at odd elements, overflow.
TEST_F(PoolRun, DistancesOfShortFloats) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const std::int64_t length : {8, 40, 256, 600}) {
      const std::int64_t rows = 67, columns = 97;
      const Array spread = random_array({rows, length}, DType::f32, -1, 1, 7);
      // Every third point is one of the others, or a step of the last bit away from it.
      Values points = spread.to_doubles();
      for (std::int64_t i = 0; i + 1 < rows * length; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (i / length % 3 == 2) points[at] = 64 + (i % 17 == 0 && i / length % 2 == 0 ? 0.5 : 0);
      }
      const Array a = array(points, {rows, length}, dtype);
      const Array b =
          cat({narrow(a, 0, 0, 60), random_array({columns - 60, length}, dtype, 1, 3, 8)}, 0);
      const Values left = a.to_doubles(), right = b.to_doubles();
      Values expected;
      for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
        for (std::size_t j = 0; j < static_cast<std::size_t>(columns); ++j) {
          double sum = 0;
          for (std::size_t k = 0; k < static_cast<std::size_t>(length); ++k) {
            const double d = left[i * static_cast<std::size_t>(length) + k] -
                             right[j * static_cast<std::size_t>(length) + k];
            sum += d * d;
          }
          expected.push_back(std::sqrt(sum));
        }
      }
      const std::string what = std::string(name(dtype)) + " " + std::to_string(length);
      const double bound = dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
      for (const Device& device : {Device::cpu(), device_}) {
        const Array x = to_device(a, device), y = to_device(b, device);
        expect_close(cdist(x, y), expected, bound, what);
        // Rows that begin at odd elements, and a batch.
        const Array odd = to_device(pad(a, {0, 1}, {0, 0}), device);
        expect_close(cdist(slice(odd, {{0, rows}, {1, length + 1}}), y), expected, bound, what);
        Values twice = expected;
        twice.insert(twice.end(), expected.begin(), expected.end());
        expect_close(cdist(expand(x, {2, rows, length}), y), twice, bound, "batch " + what);
      }
    }
    Values odd(40 * 16, 1);
    odd[3] = kNan, odd[16] = kInf, odd[35] = dtype == DType::f16 ? 6e4 : 3e38;
    const Array x = to_device(array(odd, {40, 16}, dtype), device_);
    const Values got = cdist(x, x).to_doubles();
    for (std::size_t j = 0; j < 40; ++j) {
      EXPECT_TRUE(std::isnan(got[j]));
      EXPECT_TRUE(j < 2 ? std::isnan(got[40 + j]) : got[40 + j] == kInf) << j;
      EXPECT_EQ(j > 2 && got[40 * 2 + j] == kInf, j > 2 && dtype == DType::bf16) << j;
    }
    EXPECT_EQ(got[40 * 2 + 2], 0);
  }
}

TEST_F(PoolRun, DropoutKeepsTheSameElementsOnEveryDevice) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (const Shape& shape : {Shape{1}, Shape{16}, Shape{3, 1001}, Shape{64, 128}, Shape{0, 4}}) {
      const Array x = random_array(shape, dtype, 1, 2, 9), y = random_array(shape, dtype, 1, 2, 4);
      for (const double probability : {0.1, 0.75, 1.0, 1 - 0x1p-14}) {
        const auto run = [&](const Device& device, int kind) {
          Generator source{5, 77};
          Array from = to_device(x, device);
          if (kind == 1) from = flip(from, {0});
          const Array leaf = from.detach().require_grad();
          Array kept = dropout(leaf, probability, true, &source);
          if (kind == 2) kept = add(to_device(y, device), kept);
          const Array grad = backward(sum(mul(kept, to_device(x, device)))).get(leaf);
          Values all = kept.to_doubles();
          const Values more = grad.to_doubles();
          all.insert(all.end(), more.begin(), more.end());
          return all;
        };
        for (int kind = 0; kind < 3; ++kind) {
          expect_within(run(device_, kind), run(Device::cpu(), kind), 2 * tolerance(dtype),
                        std::string(name(dtype)) + " " + to_string(shape), 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
