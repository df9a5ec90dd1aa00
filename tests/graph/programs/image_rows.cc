// Rows of ops on images [batch, channels, spatial...]: convolutions, pools, norms of channels,
// resizing.
#include <algorithm>

#include "graph/programs/op_rows.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

using Arrays = OpRow::Arrays;
using Operands = std::vector<Operand>;

// The extent of a kernel along every spatial axis: up to 3, and none that does not fit.
std::int64_t kernel_of(const Array& x, const Draw& d) {
  std::int64_t kernel = 1 + d.below(0, 3);
  for (int i = 2; i < x.rank(); ++i) kernel = std::min(kernel, x.shape(i));
  return kernel;
}

Dims kernel_dims(const Array& x, const Draw& d) {
  return Dims::filled(x.rank() - 2, kernel_of(x, d));
}

std::int64_t groups_of(const Array& x, const Draw& d) {
  return d.yes(3) && x.shape(1) % 2 == 0 ? 2 : 1;
}

// A weight of `out` channels of each group, and a bias for all.
Operands conv_operands(const Array& x, const Draw& d, bool transposed) {
  const std::int64_t groups = groups_of(x, d), out = 1 + d.below(1, 4);
  Shape weight = {transposed ? x.shape(1) : groups * out, transposed ? out : x.shape(1) / groups};
  for (int i = 2; i < x.rank(); ++i) weight.push_back(kernel_of(x, d));
  return {{weight}, {{groups * out}}};
}

// Vectors [channels].
Operands channel_vectors(const Array& x, std::size_t count) {
  return Operands(count, Operand{{x.shape(1)}});
}

// Every window has an element unless the number of positions is rounded up.
PoolOptions pool_options(const Array& x, const Draw& d, bool may_round_up = true) {
  PoolOptions options;
  if (d.yes(1)) options.stride = {1 + d.below(2, 2)};
  if (d.yes(3) && kernel_of(x, d) > 1) options.padding = {1};
  options.ceil_mode = may_round_up && d.below(3, 3) == 0;
  return options;
}

Dims sizes_of(const Array& x, const Draw& d) {
  Dims sizes;
  for (int i = 2; i < x.rank(); ++i) sizes.push_back(1 + (d.number[0] + 3 * i) % 7);
  return sizes;
}

Arrays interpolated(const Arrays& in, const Draw& d, InterpolateMode mode) {
  return {interpolate(in[0], sizes_of(in[0], d), mode, d.yes(1))};
}

// Deviations of tanh with an epsilon of 1 are such that rounding cannot change them much.
constexpr double kEpsilon = 1;

const OpRow kRows[] = {
    {.name = "conv",
     .least_rank = 4,
     .others = [](const Array& x, const Draw& d) { return conv_operands(x, d, false); },
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{conv(in[0], in[1], in[2],
                              {.stride = {1 + d.below(2, 2)},
                               .padding = {d.below(2, 3)},
                               .groups = groups_of(in[0], d)})};
         }},
    {.name = "conv_1d",
     .least_rank = 3,
     .most_rank = 3,
     .others = [](const Array& x,
                  const Draw& d) { return Operands{conv_operands(x, d, false)[0]}; },
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{conv(
               in[0], in[1], Array(),
               {.padding = {2}, .dilation = {1 + d.below(2, 2)}, .groups = groups_of(in[0], d)})};
         }},
    {.name = "conv_transpose",
     .least_rank = 4,
     .others = [](const Array& x, const Draw& d) { return conv_operands(x, d, true); },
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{
               conv_transpose(in[0], in[1], in[2],
                              {.stride = {1 + d.below(2, 2)}, .groups = groups_of(in[0], d)})};
         }},
    // Without windows of nothing, which would give infinities.
    {.name = "max_pool",
     .takes = Takes::numbers,
     .least_rank = 4,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{max_pool(in[0], kernel_dims(in[0], d), pool_options(in[0], d, false))};
         }},
    {.name = "max_pool_with_indices",
     .takes = Takes::numbers,
     .least_rank = 4,
     .jumps = true,
     .run =
         [](const Arrays& in, const Draw& d) {
           const auto [values, indices] =
               max_pool_with_indices(in[0], kernel_dims(in[0], d), pool_options(in[0], d));
           return Arrays{values, indices};
         }},
    {.name = "avg_pool",
     .least_rank = 4,
     .run =
         [](const Arrays& in, const Draw& d) {
           const PoolOptions options = pool_options(in[0], d);
           return Arrays{avg_pool(in[0], kernel_dims(in[0], d),
                                  {.stride = options.stride,
                                   .padding = options.padding,
                                   .ceil_mode = options.ceil_mode,
                                   .count_include_pad = d.yes(0)})};
         }},
    {.name = "adaptive_avg_pool",
     .least_rank = 4,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{adaptive_avg_pool(in[0], sizes_of(in[0], d))}; }},
    {.name = "adaptive_max_pool",
     .takes = Takes::numbers,
     .least_rank = 4,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{adaptive_max_pool(in[0], sizes_of(in[0], d))}; }},
    {.name = "batch_norm",
     .least_rank = 4,
     .others = [](const Array& x, const Draw&) { return channel_vectors(x, 4); },
     .run =
         [](const Arrays& in, const Draw&) {
           return Arrays{batch_norm(in[0], in[1], square(in[2]), in[3], in[4], kEpsilon)};
         }},
    {.name = "batch_norm_train",
     .least_rank = 4,
     .others = [](const Array& x, const Draw&) { return channel_vectors(x, 2); },
     .run =
         [](const Arrays& in, const Draw&) {
           const auto [values, mean, variance] =
               batch_norm_train(tanh(in[0]), in[1], in[2], kEpsilon);
           return Arrays{values, mean, variance};
         }},
    {.name = "group_norm",
     .least_rank = 4,
     .others = [](const Array& x, const Draw&) { return channel_vectors(x, 2); },
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{group_norm(tanh(in[0]), groups_of(in[0], d), in[1], in[2], kEpsilon)};
         }},
    {.name = "instance_norm",
     .least_rank = 4,
     .run =
         [](const Arrays& in, const Draw&) {
           return Arrays{instance_norm(tanh(in[0]), Array(), Array(), kEpsilon)};
         }},
    {.name = "local_response_norm",
     .least_rank = 4,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{local_response_norm(tanh(in[0]), 1 + d.below(0, 4))};
         }},
    {.name = "interpolate_nearest",
     .least_rank = 4,
     .run =
         [](const Arrays& in, const Draw& d) {
           return interpolated(
               in, d, d.yes(2) ? InterpolateMode::nearest : InterpolateMode::nearest_exact);
         }},
    {.name = "interpolate_linear",
     .least_rank = 4,
     .run = [](const Arrays& in,
               const Draw& d) { return interpolated(in, d, InterpolateMode::linear); }},
    {.name = "interpolate_cubic",
     .least_rank = 4,
     .run =
         [](const Arrays& in, const Draw& d) {
           return interpolated(in, d, d.yes(2) ? InterpolateMode::cubic : InterpolateMode::lanczos);
         }},
    {.name = "grid_sample_2d",
     .least_rank = 4,
     .most_rank = 4,
     .others = [](const Array& x,
                  const Draw& d) { return Operands{{{x.shape(0), 1 + d.below(0, 4), 3, 2}}}; },
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{grid_sample_2d(
               in[0], tanh(in[1]),
               {.padding = d.yes(1) ? GridSamplePadding::border : GridSamplePadding::zeros,
                .align_corners = d.yes(2)})};
         }},
    {.name = "unfold4d",
     .takes = Takes::any,
     .least_rank = 4,
     .most_rank = 4,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{unfold4d(in[0], kernel_dims(in[0], d),
                                  {.stride = {1 + d.below(1, 2)}, .padding = {d.below(2, 2)}})};
         }},
    {.name = "fold4d",
     .takes = Takes::numbers,
     .least_rank = 4,
     .most_rank = 4,
     .run =
         [](const Arrays& in, const Draw& d) {
           const Dims kernel = kernel_dims(in[0], d);
           return Arrays{fold4d(unfold4d(in[0], kernel), {in[0].shape(2), in[0].shape(3)}, kernel)};
         }},
    {.name = "pixel_unshuffle",
     .takes = Takes::any,
     .least_rank = 4,
     .most_rank = 4,
     .run = [](const Arrays& in,
               const Draw&) { return Arrays{pixel_unshuffle(repeat(in[0], {1, 1, 2, 2}), 2)}; }},
    {.name = "pixel_shuffle",
     .takes = Takes::any,
     .least_rank = 4,
     .most_rank = 4,
     .run = [](const Arrays& in,
               const Draw&) { return Arrays{pixel_shuffle(repeat(in[0], {1, 4, 1, 1}), 2)}; }},
    {.name = "channels_last",
     .takes = Takes::any,
     .least_rank = 4,
     .run =
         [](const Arrays& in, const Draw&) {
           return Arrays{movedim(contiguous(movedim(in[0], {1}, {-1})), {-1}, {1})};
         }},
};

}  // namespace

std::span<const OpRow> image_rows() { return kRows; }

}  // namespace hearth::testing
