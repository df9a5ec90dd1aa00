// Convolutions in tiles, and products of matrices that are packed once, with the tile instructions
// emulated.
#include "devices/cpu/ops/conv/amx.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/gemm/packed.h"

namespace hearth::cpu {
namespace {

class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  std::vector<bfloat16> values(std::int64_t count) {
    std::vector<bfloat16> result;
    std::uniform_real_distribution<float> any(-1, 1);
    for (std::int64_t i = 0; i < count; ++i) result.emplace_back(any(engine_));
    return result;
  }

 private:
  std::mt19937 engine_;
};

double at(const std::vector<bfloat16>& values, std::int64_t i) {
  return static_cast<float>(values[static_cast<std::size_t>(i)]);
}

Operand operand_of(TensorSpec& spec, std::vector<bfloat16>& values, const Shape& shape) {
  spec.dtype = DType::bf16;
  spec.shape = shape;
  spec.strides = contiguous_strides(shape);
  return {&spec, reinterpret_cast<std::byte*>(values.data())};
}

// The processor's tiles where it has some.
const Bf16Gemm& tiles_here() { return amx_gemm() != nullptr ? *amx_gemm() : emulated_amx_gemm(); }

void check_conv(Numbers& numbers, int axes, bool channels_last) {
  ConvWindow window;
  window.groups = numbers.between(1, 2);
  const std::int64_t batch = numbers.between(1, 2), in = numbers.between(16, 70);
  const std::int64_t out = numbers.between(8, 50);
  Shape x_shape{batch, in * window.groups}, w_shape{out * window.groups, in};
  Shape y_shape{batch, out * window.groups};
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t extent = numbers.between(1, axes == 1 ? 300 : 12);
    const std::int64_t taps = numbers.between(1, 3);
    window.stride.push_back(numbers.between(1, 3));
    window.dilation.push_back(numbers.between(1, 3));
    window.before.push_back(numbers.between(0, 4));
    window.after.push_back(numbers.between(0, 4));
    const std::int64_t positions = window.positions(axis, extent, taps);
    if (positions < 1) return;
    x_shape.push_back(extent);
    w_shape.push_back(taps);
    y_shape.push_back(positions);
  }
  std::vector<bfloat16> x = numbers.values(element_count(x_shape));
  std::vector<bfloat16> w = numbers.values(element_count(w_shape));
  std::vector<bfloat16> y = numbers.values(element_count(y_shape));
  std::vector<float> bias;
  for (std::int64_t i = 0; i < out * window.groups && axes != 2; ++i) {
    bias.push_back(static_cast<float>(i));
  }
  TensorSpec specs[3];
  const Operand x_in = operand_of(specs[0], x, x_shape), w_in = operand_of(specs[1], w, w_shape);
  const Operand y_out = operand_of(specs[2], y, y_shape);
  if (channels_last) {
    std::int64_t step = x_shape[1];
    specs[0].strides[1] = 1;
    for (int axis = axes + 1; axis > 1; --axis) {
      specs[0].strides[axis] = step;
      step *= x_shape[axis];
    }
  }
  const ConvProblem p(x_shape, spatial(w_shape), spatial(y_shape), w_shape[0], window);
  if (!ConvTiles(p).fits()) return;
  std::vector<std::byte> memory(static_cast<std::size_t>(ConvAmxMemory(p).total()),
                                std::byte{0xff});
  conv_by_amx(tiles_here().walk, p, x_in, w_in, bias, y_out, memory.data());

  const ConvStrides strides(specs[0]);
  for (std::int64_t i = 0; i < element_count(y_shape); ++i) {
    const std::int64_t position = i % p.positions, channel = i / p.positions % y_shape[1];
    const std::int64_t image = i / p.positions / y_shape[1], group = channel / out;
    double sum = bias.empty() ? 0 : static_cast<double>(channel), norm = std::abs(sum);
    for (std::int64_t tap = 0; tap < p.taps; ++tap) {
      for_runs(p, tap, position, 1, [&](const ConvRun& run) {
        if (run.begin == run.end) return;
        for (std::int64_t c = 0; c < in; ++c) {
          const double product = at(w, (channel * in + c) * p.taps + tap) *
                                 at(x, image * strides.batch + (group * in + c) * strides.channel +
                                           run.plane * strides.axis[0] + run.row * strides.axis[1] +
                                           run.column * strides.axis[2]);
          sum += product;
          norm += std::abs(product);
        }
      });
    }
    ASSERT_NEAR(at(y, i), sum, norm * 1e-4 + std::abs(sum) * 0x1p-8) << "element " << i;
  }
}

TEST(ConvAmx, AnyWindow) {
  Numbers numbers(1);
  for (int i = 0; i < 24; ++i) {
    SCOPED_TRACE(i);
    check_conv(numbers, i % 3 + 1, i % 4 == 3);
    if (HasFatalFailure()) return;
  }
}

TEST(ConvAmx, LeavesPlanesThatAreMostlyPaddingToOthers) {
  ConvWindow window;
  for (int axis = 0; axis < 3; ++axis) {
    window.stride.push_back(1);
    window.dilation.push_back(std::int64_t{1} << 40);
    window.before.push_back(std::int64_t{1} << 39);
    window.after.push_back(std::int64_t{1} << 39);
  }
  const ConvProblem p({1, 32, 1, 1, 1}, {2, 2, 2}, {1, 1, 1}, 32, window);
  EXPECT_FALSE(ConvTiles(p).fits());
}

TEST(PackedPairs, AnyPartOfTheMatrix) {
  Numbers numbers(2);
  for (int i = 0; i < 60; ++i) {
    const std::int64_t m = numbers.between(1, 70), n = numbers.between(1, 200);
    const std::int64_t k = numbers.between(1, 100);
    PackedPairs pairs(i % 2 == 0 || !PackedPairs::exist() ? &tiles_here() : bf16_gemm());
    const std::vector<bfloat16> b = numbers.values(k * n);
    std::vector<std::uint32_t> panels(static_cast<std::size_t>(pairs.size(k, n)));
    const bool turned = i % 3 == 0;
    pairs.pack(b.data(), turned ? 1 : n, turned ? k : 1, k, n, panels.data());
    const std::int64_t cols = pairs.whole_columns(numbers.between(1, n));
    const std::int64_t stride = round_up(k, PackedPairs::kDepthUnit);
    std::vector<bfloat16> a = numbers.values(m * k);
    std::vector<bfloat16> padded(
        static_cast<std::size_t>(round_up(m, PackedPairs::kRowUnit) * stride));
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t p = 0; p < k; ++p) {
        padded[static_cast<std::size_t>(row * stride + p)] =
            a[static_cast<std::size_t>(row * k + p)];
      }
    }
    std::vector<float> c(static_cast<std::size_t>(m * n), 2.0f);
    pairs.multiply(m, cols, k, padded.data(), stride, c.data(), n, true);
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t col = 0; col < n; ++col) {
        double sum = 2;
        for (std::int64_t p = 0; p < k && col < cols; ++p) {
          sum += at(a, row * k + p) * at(b, turned ? col * k + p : p * n + col);
        }
        ASSERT_NEAR(c[static_cast<std::size_t>(row * n + col)], sum, 1e-4)
            << m << " " << n << " " << k << " " << cols << " at " << row << "," << col;
      }
    }
  }
}

}  // namespace
}  // namespace hearth::cpu
