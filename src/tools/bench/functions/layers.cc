// Products, convolutions, pools, images, what is found in them, norms of channels, attention,
// losses, and gradients.
#include "hearth/ops.h"
#include "tools/bench/functions/functions.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kLossClasses = 1000;
constexpr std::int64_t kCtcTime = 128, kCtcClasses = 64, kCtcLabels = 32;

Array image_points(const BenchInputs& in) {
  return tanh(in.normal({in.images()[0], in.images()[2], in.images()[3], 2})).eval();
}

void add_products(std::vector<BenchFunction>& out) {
  out.push_back({"product/matmul", [](const BenchInputs& in) {
                   return [x = in.normal(in.matrix()), y = in.normal(in.matrix())] {
                     return matmul(x, y);
                   };
                 }});
  out.push_back({"product/linear_bias", [](const BenchInputs& in) {
                   return [x = in.normal(in.lines()), w = in.normal({1024, 1024}),
                           b = in.normal({1024})] { return linear(x, transpose(w), b); };
                 }});
  out.push_back({"product/einsum", [](const BenchInputs& in) {
                   return [q = in.normal(in.heads()), k = in.normal(in.heads())] {
                     return einsum("bhqd,bhkd->bhqk", std::vector<Array>{q, k});
                   };
                 }});
  out.push_back({"product/cdist", [](const BenchInputs& in) {
                   return [x = in.normal({1024, 1024}), y = in.normal({in.order(), 1024})] {
                     return cdist(x, y);
                   };
                 }});
}

void add_convolutions(std::vector<BenchFunction>& out) {
  struct Problem {
    const char* name;
    std::int64_t kernel, groups;  // 0: one a channel
    ConvOptions options;
  };
  for (const Problem& p :
       {Problem{"conv/3x3", 3, 1, {.padding = {1}}},
        Problem{"conv/3x3_stride2", 3, 1, {.stride = {2}, .padding = {1}}},
        Problem{"conv/1x1", 1, 1, {}}, Problem{"conv/depthwise", 3, 0, {.padding = {1}}}}) {
    out.push_back({p.name, [p](const BenchInputs& in) {
                     ConvOptions options = p.options;
                     const std::int64_t channels = in.channels();
                     options.groups = p.groups == 0 ? channels : p.groups;
                     const Shape kernel = {channels, channels / options.groups, p.kernel, p.kernel};
                     return [x = in.normal(in.images()), w = in.normal(kernel), options] {
                       return conv(x, w, Array(), options);
                     };
                   }});
  }
  out.push_back({"conv/transpose_4x4_stride2", [](const BenchInputs& in) {
                   ConvTransposeOptions options;
                   options.stride = {2};
                   options.padding = {1};
                   return [x = in.normal(in.images()),
                           w = in.normal({in.channels(), in.channels(), 4, 4}),
                           options] { return conv_transpose(x, w, Array(), options); };
                 }});
  out.push_back({"conv/1d_3", [](const BenchInputs& in) {
                   return [x = in.normal({in.images()[0], in.channels(), 56 * 56}),
                           w = in.normal({in.channels(), in.channels(), 3})] {
                     return conv(x, w, Array(), {.padding = {1}});
                   };
                 }});
  out.push_back({.name = "conv/deform_3x3",
                 .prepare =
                     [](const BenchInputs& in) {
                       const Shape x = in.images();
                       return [x = in.normal(x), offset = in.normal({x[0], 18, x[2], x[3]}),
                               w = in.normal({x[1], x[1], 3, 3})] {
                         return deform_conv2d(x, offset, w, Array(), Array(), {.padding = {1}});
                       };
                     },
                 .has_peer = false});
}

void add_images(std::vector<BenchFunction>& out) {
  const auto row = [&](const char* name, Array (*function)(const Array& x)) {
    out.push_back(unary_function(name, &BenchInputs::images, function));
  };
  row("pool/max_3x3_stride2",
      [](const Array& x) { return max_pool(x, {3}, {.stride = {2}, .padding = {1}}); });
  row("pool/avg_2x2", [](const Array& x) { return avg_pool(x, {2}); });
  row("pool/adaptive_7x7", [](const Array& x) { return adaptive_avg_pool(x, {7, 7}); });
  row("image/nearest_2x", [](const Array& x) { return interpolate(x, {112, 112}); });
  row("image/bilinear_2x",
      [](const Array& x) { return interpolate(x, {112, 112}, InterpolateMode::linear, false); });
  row("image/bicubic_2x",
      [](const Array& x) { return interpolate(x, {112, 112}, InterpolateMode::cubic, false); });
  row("image/unfold_3x3", [](const Array& x) { return unfold4d(x, {3, 3}, {.padding = {1}}); });
  out.push_back({"image/grid_sample", [](const BenchInputs& in) {
                   return [x = in.normal(in.images()), points = image_points(in)] {
                     return grid_sample_2d(x, points);
                   };
                 }});
  row("norm/batch", [](const Array& x) { return std::get<0>(batch_norm_train(x)); });
  row("norm/group_8", [](const Array& x) { return group_norm(x, 8); });
  row("norm/instance", [](const Array& x) { return instance_norm(x); });
}

// n boxes whose corners lie within some widths of each other: many overlap.
Array boxes_of(const BenchInputs& in, std::int64_t n) {
  const Array corner = mul(in.normal({n, 2}), 8.0), size = add(abs(in.normal({n, 2})), 1.0);
  return cat({corner, add(corner, mul(size, 4.0))}, 1).eval();
}

void add_vision(std::vector<BenchFunction>& out) {
  out.push_back({.name = "vision/nms",
                 .prepare =
                     [](const BenchInputs& in) {
                       const std::int64_t n = 8 * in.order();
                       return [boxes = boxes_of(in, n), scores = in.normal({n})] {
                         return nms(boxes, scores);
                       };
                     },
                 .f32_only = true,
                 .has_peer = false});
  out.push_back({.name = "vision/connected_components",
                 .prepare =
                     [](const BenchInputs& in) {
                       const Array image = greater(in.normal(in.matrix()), 0.0).eval();
                       return [image] { return connected_components(image); };
                     },
                 .f32_only = true,
                 .has_peer = false});
}

void add_attention(std::vector<BenchFunction>& out) {
  for (const bool causal : {false, true}) {
    out.push_back({causal ? "attention/causal" : "attention/full", [causal](const BenchInputs& in) {
                     return [q = in.normal(in.heads()), k = in.normal(in.heads()),
                             v = in.normal(in.heads()),
                             causal] { return attention(q, k, v, {.causal = causal}); };
                   }});
  }
  out.push_back({"attention/masked", [](const BenchInputs& in) {
                   const std::int64_t length = in.heads()[2];
                   const Array mask = greater(in.normal({length, length}), Array(1.0)).eval();
                   return [q = in.normal(in.heads()), k = in.normal(in.heads()),
                           v = in.normal(in.heads()),
                           mask] { return attention(q, k, v, {.mask = mask}); };
                 }});
}

void add_losses(std::vector<BenchFunction>& out) {
  out.push_back({"loss/cross_entropy", [](const BenchInputs& in) {
                   const std::int64_t rows = in.matrix()[0];
                   return [x = in.normal({rows, kLossClasses}),
                           t = in.indices({rows}, kLossClasses)] { return cross_entropy(x, t); };
                 }});
  const auto pair = [&](const char* name, Array (*function)(const Array& x, const Array& t)) {
    out.push_back({name, [function](const BenchInputs& in) {
                     return [x = in.normal(in.matrix()), t = sigmoid(in.normal(in.matrix())).eval(),
                             function] { return function(x, t); };
                   }});
  };
  pair("loss/mse", [](const Array& x, const Array& t) { return mse_loss(x, t); });
  pair("loss/binary_cross_entropy_with_logits",
       [](const Array& x, const Array& t) { return binary_cross_entropy_with_logits(x, t); });
  out.push_back(
      {"loss/ctc",
       [](const BenchInputs& in) {
         const std::int64_t batch = in.matrix()[0] / 32;
         const Array unset = zeros({batch}, DType::i64, in.device());
         return [x = log_softmax(in.normal({kCtcTime, batch, kCtcClasses})).eval(),
                 targets = add(in.indices({batch, kCtcLabels}, kCtcClasses - 1), 1).eval(),
                 times = add(unset, kCtcTime).eval(), labels = add(unset, kCtcLabels).eval()] {
           return ctc_loss(x, targets, times, labels);
         };
       },
       true});
  pair("loss/kl_div", [](const Array& x, const Array& t) { return kl_div(x, t); });
}

void add_gradients(std::vector<BenchFunction>& out) {
  using Function = Array (*)(const Array& x);
  const auto row = [&](const char* name, Shape (BenchInputs::*shape)() const, Function function) {
    out.push_back(gradient_function(name, shape, function));
  };
  row("gradient/gelu", &BenchInputs::matrix, [](const Array& x) { return gelu(x); });
  row("gradient/softmax", &BenchInputs::matrix, [](const Array& x) { return softmax(x, 1); });
  row("gradient/layer_norm", &BenchInputs::matrix, [](const Array& x) { return layer_norm(x); });
  row("gradient/cumsum", &BenchInputs::matrix, [](const Array& x) { return cumsum(x, 1); });
  row("gradient/matmul", &BenchInputs::matrix, [](const Array& x) { return matmul(x, x); });
  row("gradient/max_pool_3x3_stride2", &BenchInputs::images,
      [](const Array& x) { return max_pool(x, {3}, {.stride = {2}, .padding = {1}}); });
  row("gradient/avg_pool_2x2", &BenchInputs::images,
      [](const Array& x) { return avg_pool(x, {2}); });
  row("gradient/bilinear_2x", &BenchInputs::images,
      [](const Array& x) { return interpolate(x, {112, 112}, InterpolateMode::linear, false); });
  row("gradient/batch_norm", &BenchInputs::images,
      [](const Array& x) { return std::get<0>(batch_norm_train(x)); });
  row("gradient/group_norm_8", &BenchInputs::images,
      [](const Array& x) { return group_norm(x, 8); });
  row("gradient/attention_causal", &BenchInputs::heads,
      [](const Array& x) { return attention(x, x, x, {.causal = true}); });
}

}  // namespace

std::vector<BenchFunction> layer_functions() {
  std::vector<BenchFunction> out;
  add_products(out);
  add_convolutions(out);
  add_images(out);
  add_vision(out);
  add_attention(out);
  add_losses(out);
  add_gradients(out);
  return out;
}

}  // namespace hearth::tools
