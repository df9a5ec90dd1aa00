// conv and its gradients, as products of weights and patches (im2col).
//
// A task packs what some positions meet into a tile that stays in a second-level cache and
// multiplies it by the weights of its group; the gradient for x multiplies first, and adds the
// tile's rows to what they met. A convolution whose positions meet one element each needs no
// tiles. Sums of halves are f32 and rounded once. How a result is summed follows from the problem
// alone, not from the number of threads. Bound by the products, or by packing where few outputs
// share a tile. Groups of one channel each take no products: depthwise.h. Where the processor
// multiplies tiles of bf16, no patches are made: amx.h. Nor are they where planes are not mostly
// padding: indirect.h, indirect_weight.h.
#include <memory>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/ops/conv/amx.h"
#include "devices/cpu/ops/conv/depthwise.h"
#include "devices/cpu/ops/conv/im2col.h"
#include "devices/cpu/ops/conv/indirect.h"
#include "devices/cpu/ops/conv/indirect_weight.h"
#include "devices/cpu/ops/conv/operands.h"
#include "devices/cpu/ops/conv/problem.h"
#include "devices/cpu/ops/elements.h"
#include "graph/implementation.h"
#include "graph/record/node.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

constexpr std::int64_t kTileBytes = 192 * 1024;  // of a second-level cache
constexpr std::int64_t kTilePositions = 64;      // least positions of a tile, where there are more
constexpr std::int64_t kMaxPositions = 512;

DType sum_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// Positions of a tile of `rows` rows.
std::int64_t tile_positions(const ConvProblem& p, std::int64_t rows, std::int64_t width) {
  const std::int64_t fit = kTileBytes / std::max<std::int64_t>(rows * width, 1);
  const std::int64_t whole = fit / kTilePositions * kTilePositions;
  return std::min(std::clamp(whole, kTilePositions, kMaxPositions), p.positions);
}

// The least part of `extent` that makes as many tasks as keep all threads busy.
std::int64_t part_for_threads(std::int64_t extent, std::int64_t most, std::int64_t least,
                              std::int64_t tasks, double flops) {
  constexpr double kTaskFlops = 2e5;
  std::int64_t part = std::min(extent, most);
  const std::int64_t wanted = enough_tasks();
  while (part > least && tasks * ceil_div(extent, part) < wanted &&
         flops / static_cast<double>(tasks * ceil_div(extent, part)) > 2 * kTaskFlops) {
    part = std::max(ceil_div(part, 2), least);
  }
  return part;
}

// ---- conv

template <class T>
void add_bias(void* context, void* tile, std::int64_t stride, std::int64_t, std::int64_t row,
              std::int64_t, std::int64_t rows, std::int64_t cols) {
  const T* const bias = static_cast<const T*>(context) + row;
  for (std::int64_t i = 0; i < rows; ++i) {
    T* const sums = static_cast<T*>(tile) + i * stride;
    for (std::int64_t j = 0; j < cols; ++j) sums[j] += bias[i];
  }
}

template <class T, class E>
void conv(const Launch& launch) {
  const ConvOperands operands(launch);
  const ConvProblem& p = operands.problem;
  const Operand &x = operands.a, &weight = operands.b;
  const Operand out = output_of(launch);
  std::vector<T> bias = bias_of<T>(launch);
  const ConvStrides strides(*x.spec);
  const std::int64_t inner = p.in * p.taps;

  GemmArgs product;
  product.a_row_stride = inner;
  product.c_row_stride = p.positions;
  product.dtype = product.c_dtype = out.dtype();
  const auto with_bias = [&](GemmArgs args, std::int64_t channel) {
    if (!bias.empty()) args.epilogue = {add_bias<T>, bias.data() + channel};
    return args;
  };
  if (p.is_pointwise()) {
    product.m = p.out;
    product.n = p.positions;
    product.k = inner;
    product.b_row_stride = p.inputs;
    for (std::int64_t g = 0; g < p.groups; ++g) {
      GemmArgs args = with_bias(product, g * p.out);
      args.a = weight.at(g * p.out * inner);
      args.b = x.at(g * p.in * p.inputs);
      args.c = out.at(g * p.out * p.positions);
      gemm(args, {p.batch, 0, p.groups * p.in * p.inputs, p.groups * p.out * p.positions});
    }
    return;
  }

  // Products of halves are rounded once, so all their inputs are in one tile.
  const bool may_split = sizeof(E) == sizeof(T);
  const std::int64_t fit =
      kTileBytes / (kTilePositions * p.taps * static_cast<std::int64_t>(sizeof(E)));
  const std::int64_t most = std::max<std::int64_t>(p.in, 1);
  const std::int64_t channels = may_split ? std::clamp<std::int64_t>(fit, 1, most) : most;
  const std::int64_t columns = part_for_threads(
      p.positions, tile_positions(p, channels * p.taps, static_cast<std::int64_t>(sizeof(E))),
      kTilePositions / 2, p.batch * p.groups, p.flops());
  const std::int64_t blocks = ceil_div(p.positions, columns);
  const std::int64_t rows =
      part_for_threads(p.out, p.out, 48, p.batch * p.groups * blocks, p.flops());
  const std::int64_t row_blocks = ceil_div(p.out, rows);
  for_each_task(p.batch * p.groups * blocks * row_blocks, 1, [&](std::int64_t task) {
    const std::int64_t row = task % row_blocks * rows, first = task / row_blocks % blocks * columns;
    const std::int64_t image = task / row_blocks / blocks, g = image % p.groups;
    const std::int64_t count = std::min(columns, p.positions - first);
    E* const tile = scratch<E>(0, channels * p.taps * columns);
    for (std::int64_t c = 0; c == 0 || c < p.in; c += channels) {
      const std::int64_t some = std::min(channels, p.in - c);
      const auto* from = reinterpret_cast<const E*>(x.data) + image / p.groups * strides.batch +
                         (g * p.in + c) * strides.channel;
      pack_patches(p, strides, from, some, first, count, tile);
      GemmArgs args = product;
      args.m = std::min(rows, p.out - row);
      args.n = count;
      args.k = some * p.taps;
      args.a = weight.at((g * p.out + row) * inner + c * p.taps);
      args.b = tile;
      args.b_row_stride = count;
      args.c = out.at((image * p.out + row) * p.positions + first);
      args.accumulate = c > 0;
      args.threads = 1;
      gemm(c + some == p.in ? with_bias(args, g * p.out + row) : args);
    }
  });
}

// ---- conv_input_gradient

template <class T, class E>
void input_gradient(const Launch& launch) {
  const ConvOperands operands(launch);
  const ConvProblem& p = operands.problem;
  const Operand &grad = operands.a, &weight = operands.b;
  const Operand out = output_of(launch);
  const std::int64_t inner = p.in * p.taps;

  GemmArgs product;
  product.k = p.out;
  product.a_row_stride = 1;
  product.a_col_stride = inner;
  product.b_row_stride = p.positions;
  product.dtype = out.dtype();
  if (p.is_pointwise()) {
    product.m = p.in;
    product.n = p.positions;
    product.c_row_stride = p.inputs;
    product.c_dtype = out.dtype();
    for (std::int64_t g = 0; g < p.groups; ++g) {
      GemmArgs args = product;
      args.a = weight.at(g * p.out * inner);
      args.b = grad.at(g * p.out * p.positions);
      args.c = out.at(g * p.in * p.inputs);
      gemm(args, {p.batch, 0, p.groups * p.out * p.positions, p.groups * p.in * p.inputs});
    }
    return;
  }

  product.c_dtype = sum_dtype(out.dtype());
  const auto width = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t fit = kTileBytes / (std::max(p.inputs, kTilePositions * p.taps) * width);
  const std::int64_t channels = part_for_threads(p.in, std::clamp<std::int64_t>(fit, 1, p.in), 1,
                                                 p.batch * p.groups, p.flops());
  // Must not depend on the channels of a task, hence on threads: it fixes the order of summation.
  const std::int64_t columns = std::min(kTilePositions * 4, p.positions);
  const std::int64_t blocks = ceil_div(p.in, channels);
  for_each_task(p.batch * p.groups * blocks, 1, [&](std::int64_t task) {
    const std::int64_t c = task % blocks * channels, image = task / blocks, g = image % p.groups;
    const std::int64_t some = std::min(channels, p.in - c);
    T* const sums = scratch<T>(0, channels * p.inputs);
    T* const tile = scratch<T>(1, channels * p.taps * columns);
    std::fill(sums, sums + some * p.inputs, T(0));
    for (std::int64_t first = 0; first < p.positions; first += columns) {
      GemmArgs args = product;
      args.m = some * p.taps;
      args.n = std::min(columns, p.positions - first);
      args.a = weight.at(g * p.out * inner + c * p.taps);
      args.b = grad.at(image * p.out * p.positions + first);
      args.c = tile;
      args.c_row_stride = args.n;
      args.threads = 1;
      gemm(args);
      add_patches(p, tile, some, first, args.n, sums);
    }
    store_row(out.dtype(), sums, some * p.inputs, out.at((image * p.in + c) * p.inputs));
  });
}

// ---- conv_weight_gradient

template <class T, class E>
void weight_gradient(const Launch& launch) {
  const ConvOperands operands(launch);
  const ConvProblem& p = operands.problem;
  const Operand &x = operands.a, &grad = operands.b;
  const Operand out = output_of(launch);
  const ConvStrides strides(*x.spec);
  const auto width = static_cast<std::int64_t>(sizeof(E));
  // Must not depend on the channels of a task, hence on threads: it fixes the order of summation.
  const std::int64_t columns = std::clamp<std::int64_t>(p.positions, 1, kTilePositions * 4);
  const std::int64_t fit = kTileBytes / (columns * p.taps * width);
  const std::int64_t channels =
      part_for_threads(p.in, std::clamp<std::int64_t>(fit, 1, p.in), 1, p.groups, p.flops());
  const std::int64_t blocks = ceil_div(p.in, channels);
  const std::int64_t rows = part_for_threads(p.out, p.out, 24, p.groups * blocks, p.flops());
  const std::int64_t row_blocks = ceil_div(p.out, rows);
  for_each_task(p.groups * blocks * row_blocks, 1, [&](std::int64_t task) {
    const std::int64_t c = task % blocks * channels, row = task / blocks % row_blocks * rows;
    const std::int64_t g = task / blocks / row_blocks;
    const std::int64_t some = std::min(channels, p.in - c), count = std::min(rows, p.out - row);
    E* const tile = scratch<E>(0, channels * p.taps * columns);
    T* const sums = scratch<T>(1, rows * channels * p.taps);
    std::fill(sums, sums + count * some * p.taps, T(0));
    for (std::int64_t n = 0; n < p.batch; ++n) {
      const auto* from =
          reinterpret_cast<const E*>(x.data) + n * strides.batch + (g * p.in + c) * strides.channel;
      for (std::int64_t first = 0; first < p.positions; first += columns) {
        GemmArgs args;
        args.m = count;
        args.n = some * p.taps;
        args.k = std::min(columns, p.positions - first);
        pack_patches(p, strides, from, some, first, args.k, tile);
        args.a = grad.at(((n * p.groups + g) * p.out + row) * p.positions + first);
        args.a_row_stride = p.positions;
        args.b = tile;
        args.b_row_stride = 1;
        args.b_col_stride = args.k;
        args.c = sums;
        args.c_row_stride = args.n;
        args.dtype = x.dtype();
        args.c_dtype = sum_dtype(x.dtype());
        args.accumulate = true;
        args.threads = 1;
        gemm(args);
      }
    }
    for (std::int64_t o = 0; o < count; ++o) {
      store_row(out.dtype(), sums + o * some * p.taps, some * p.taps,
                out.at(((g * p.out + row + o) * p.in + c) * p.taps));
    }
  });
}

template <void (*kF64)(const Launch&), void (*kF32)(const Launch&), void (*kHalf)(const Launch&)>
void launch_conv(const Launch& launch) {
  if (element_count(launch.signature->output.shape) == 0) return;
  const DType dtype = launch.signature->output.dtype;
  (dtype == DType::f64 ? kF64 : dtype == DType::f32 ? kF32 : kHalf)(launch);
}

using Half = std::uint16_t;  // the bits of f16 and bf16

constexpr Implementation kImplementations[] = {
    {.name = "depthwise",
     .op = &defs::conv_op,
     .accepts = has_one_channel,
     .prepare = prepare_conv,
     .launch = launch_depthwise},
    {.name = "amx",
     .op = &defs::conv_op,
     .needs = [](const runtime::DeviceTraits&) { return amx_gemm() != nullptr; },
     .accepts = fits_amx,
     .prepare = prepare_amx,
     .launch = launch_amx},
    {.name = "indirect",
     .op = &defs::conv_op,
     .accepts = fits_indirect,
     .prepare = prepare_indirect,
     .launch = launch_indirect},
    {.name = "im2col",
     .op = &defs::conv_op,
     .prepare = prepare_conv,
     .launch = launch_conv<conv<double, double>, conv<float, float>, conv<float, Half>>},
    {.name = "depthwise",
     .op = &defs::conv_input_gradient_op,
     .accepts = has_one_channel,
     .prepare = prepare_conv,
     .launch = launch_depthwise},
    {.name = "indirect",
     .op = &defs::conv_input_gradient_op,
     .accepts = fits_indirect,
     .prepare = prepare_indirect,
     .launch = launch_indirect},
    {.name = "im2col",
     .op = &defs::conv_input_gradient_op,
     .prepare = prepare_conv,
     .launch = launch_conv<input_gradient<double, double>, input_gradient<float, float>,
                           input_gradient<float, Half>>},
    {.name = "depthwise",
     .op = &defs::conv_weight_gradient_op,
     .accepts = has_one_channel,
     .prepare = prepare_conv,
     .launch = launch_depthwise},
    {.name = "indirect",
     .op = &defs::conv_weight_gradient_op,
     .accepts = fits_indirect_weight,
     .prepare = prepare_indirect_weight,
     .launch = launch_indirect_weight},
    {.name = "im2col",
     .op = &defs::conv_weight_gradient_op,
     .prepare = prepare_conv,
     .launch = launch_conv<weight_gradient<double, double>, weight_gradient<float, float>,
                           weight_gradient<float, Half>>},
};

}  // namespace

Family conv_family() { return kImplementations; }

}  // namespace hearth::cpu
