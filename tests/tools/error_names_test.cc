// Whatever a function of ops.h or a layer is given, an Error that it throws names that function,
// not an op that it is made of.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "error_text.h"
#include "hearth/hearth.h"
#include "tools/bindings/declarations.h"

namespace hearth {
namespace {

struct Function {
  const char* name;
  std::function<void(const Array& a, const Array& b, const Array& c, std::int64_t n)> call;
};

#define OF_ONE(f)                                                                    \
  Function {                                                                         \
    #f, [](const Array& a, const Array&, const Array&, std::int64_t) { (void)f(a); } \
  }
#define OF_TWO(f)                                                                         \
  Function {                                                                              \
    #f, [](const Array& a, const Array& b, const Array&, std::int64_t) { (void)f(a, b); } \
  }
#define OF_THREE(f)                                                                            \
  Function {                                                                                   \
    #f, [](const Array& a, const Array& b, const Array& c, std::int64_t) { (void)f(a, b, c); } \
  }
#define OF_AXIS(f)                                                                        \
  Function {                                                                              \
    #f, [](const Array& a, const Array&, const Array&, std::int64_t n) { (void)f(a, n); } \
  }
#define OF_AXES(f)                                                                          \
  Function {                                                                                \
    #f, [](const Array& a, const Array&, const Array&, std::int64_t n) { (void)f(a, {n}); } \
  }
#define OF_INDICES(f)                                                                          \
  Function {                                                                                   \
    #f, [](const Array& a, const Array& b, const Array&, std::int64_t n) { (void)f(a, b, n); } \
  }
#define OF_VALUES(f)                                                         \
  Function {                                                                 \
    #f, [](const Array& a, const Array& b, const Array& c, std::int64_t n) { \
      (void)f(a, b, c, n);                                                   \
    }                                                                        \
  }
#define FUNCTION(name, expression)                                             \
  Function {                                                                   \
    name, [](const Array& a, const Array& b, const Array& c, std::int64_t n) { \
      (void)a, (void)b, (void)c, (void)n, (void)(expression);                  \
    }                                                                          \
  }

const std::vector<Function>& functions() {
  static const nn::Linear linear_layer(3, 2);
  static const nn::Embedding table(4, 3);
  static const nn::LayerNorm centred(3);
  static const nn::RmsNorm scaled(3);
  static const nn::FeedForward gated(3, 4);
  static const nn::BinaryCrossEntropyLoss of_two{.weights = {1, 2}};
  static const nn::MultiMarginLoss margins{.weights = {1, 2, 3}};
  static const nn::MultiHeadAttention heads(4, 2, {});
  static const QuantizedArray codes = quantize_dynamic(ones({4, 8}), QuantScheme().per_block({8}));
  static const std::vector<Function> list = {
      OF_TWO(add),
      OF_TWO(sub),
      OF_TWO(mul),
      OF_TWO(div),
      OF_TWO(remainder),
      OF_TWO(fmod),
      OF_TWO(floor_divide),
      OF_TWO(pow),
      OF_TWO(maximum),
      OF_TWO(minimum),
      OF_ONE(neg),
      OF_ONE(abs),
      OF_ONE(sign),
      OF_ONE(square),
      OF_ONE(sqrt),
      OF_ONE(rsqrt),
      OF_ONE(recip),
      OF_ONE(exp),
      OF_ONE(expm1),
      OF_ONE(log),
      OF_ONE(log1p),
      OF_ONE(exp2),
      OF_ONE(log2),
      OF_ONE(log10),
      OF_ONE(tanh),
      OF_ONE(sigmoid),
      OF_ONE(erf),
      OF_ONE(sin),
      OF_ONE(cos),
      OF_ONE(tan),
      OF_ONE(asin),
      OF_ONE(acos),
      OF_ONE(atan),
      OF_ONE(sinh),
      OF_ONE(cosh),
      OF_ONE(asinh),
      OF_ONE(acosh),
      OF_ONE(atanh),
      OF_TWO(atan2),
      OF_TWO(hypot),
      OF_ONE(floor),
      OF_ONE(ceil),
      OF_ONE(round),
      OF_ONE(trunc),
      OF_ONE(relu),
      OF_ONE(gelu),
      FUNCTION("gelu", gelu(a, true)),
      OF_ONE(silu),
      OF_TWO(prelu),
      OF_ONE(leaky_relu),
      OF_ONE(elu),
      FUNCTION("celu", celu(a, static_cast<double>(n))),
      OF_ONE(selu),
      OF_ONE(hard_sigmoid),
      OF_ONE(hard_swish),
      OF_ONE(hard_shrink),
      OF_ONE(soft_shrink),
      FUNCTION("shrink", shrink(a, static_cast<double>(n))),
      OF_ONE(thresholded_relu),
      FUNCTION("threshold", threshold(a, 1, 0)),
      FUNCTION("softplus", softplus(a, static_cast<double>(n))),
      OF_ONE(softsign),
      OF_ONE(mish),
      OF_ONE(log_sigmoid),
      FUNCTION("hardtanh", hardtanh(a, static_cast<double>(n))),
      OF_ONE(relu6),
      FUNCTION("glu", glu(a, n)),
      OF_ONE(tanhshrink),
      OF_TWO(equal),
      OF_TWO(not_equal),
      OF_TWO(less),
      OF_TWO(less_equal),
      OF_TWO(greater),
      OF_TWO(greater_equal),
      OF_TWO(logical_and),
      OF_TWO(logical_or),
      OF_TWO(logical_xor),
      OF_ONE(logical_not),
      OF_TWO(bitwise_and),
      OF_TWO(bitwise_or),
      OF_TWO(bitwise_xor),
      OF_ONE(bitwise_not),
      OF_TWO(bitwise_left_shift),
      OF_TWO(bitwise_right_shift),
      OF_ONE(signbit),
      OF_ONE(is_nan),
      OF_ONE(is_inf),
      OF_ONE(is_finite),
      OF_THREE(where),
      OF_THREE(clamp),
      OF_TWO(clamp_min),
      OF_TWO(clamp_max),
      OF_THREE(lerp),
      FUNCTION("cast", cast(a, DType::f32)),
      FUNCTION("to_device", to_device(a, Device::cpu())),
      OF_ONE(sum),
      OF_AXES(sum),
      OF_ONE(mean),
      OF_AXES(mean),
      OF_ONE(var),
      OF_AXES(var),
      OF_ONE(std),
      OF_AXES(std),
      OF_ONE(prod),
      OF_AXES(prod),
      OF_ONE(max),
      OF_AXES(max),
      OF_ONE(min),
      OF_AXES(min),
      OF_ONE(any),
      OF_AXES(any),
      OF_ONE(all),
      OF_AXES(all),
      OF_AXIS(argmax),
      OF_AXIS(argmin),
      OF_AXIS(max_with_indices),
      OF_AXIS(min_with_indices),
      OF_AXIS(sort),
      OF_AXIS(argsort),
      FUNCTION("argsort", argsort(a, 0, false, n > 1 ? DType::f32 : DType::i8)),
      OF_AXIS(sort_with_indices),
      OF_AXIS(topk),
      FUNCTION("topk", topk(a, 1, n)),
      OF_AXIS(argtopk),
      OF_AXIS(topk_with_indices),
      OF_AXIS(median),
      OF_AXIS(median_with_indices),
      OF_AXIS(cumsum),
      OF_AXIS(cumprod),
      OF_AXIS(cummax),
      OF_AXIS(cummin),
      OF_AXIS(cummax_with_indices),
      OF_AXIS(cummin_with_indices),
      OF_AXIS(logcumsumexp),
      OF_AXIS(softmax),
      OF_AXIS(log_softmax),
      OF_AXIS(softmin),
      OF_AXIS(quiet_softmax),
      OF_AXIS(logsumexp),
      FUNCTION("reshape", reshape(a, {n, 2})),
      OF_AXES(permute),
      OF_ONE(transpose),
      FUNCTION("swap_axes", swap_axes(a, n, 0)),
      FUNCTION("expand", expand(a, {n, 3})),
      FUNCTION("broadcast_to", broadcast_to(a, {n, 3})),
      OF_ONE(squeeze),
      OF_AXES(squeeze),
      OF_AXES(unsqueeze),
      FUNCTION("flatten", flatten(a, n, -1)),
      FUNCTION("slice", slice(a, {{0, 2, n}, {}, {}})),
      FUNCTION("narrow", narrow(a, n, 1, 2)),
      FUNCTION("narrow", narrow(a, 0, n, 2)),
      FUNCTION("dynamic_slice", dynamic_slice(a, {n, 0}, {1, 1})),
      OF_AXES(flip),
      OF_ONE(contiguous),
      FUNCTION("cat", cat({a, b}, n)),
      FUNCTION("cat", cat(std::vector<Array>(), n)),
      FUNCTION("stack", stack({a, b}, n)),
      FUNCTION("stack", stack(std::vector<Array>(), n)),
      FUNCTION("split", split(a, {1, 2}, n)),
      FUNCTION("split", split(a, {n, 2}, 0)),
      FUNCTION("chunk", chunk(a, 2, n)),
      FUNCTION("chunk", chunk(a, n, 0)),
      FUNCTION("repeat", repeat(a, {n, 1})),
      FUNCTION("movedim", movedim(a, {n}, {0})),
      FUNCTION("roll", roll(a, {n}, {n})),
      FUNCTION("rot90", rot90(a, n, n, 0)),
      FUNCTION("repeat_interleave", repeat_interleave(a, n, n)),
      FUNCTION("repeat_interleave", repeat_interleave(a, {n, n, n}, n)),
      FUNCTION("unfold", unfold(a, n, 2, 1)),
      FUNCTION("unfold", unfold(a, 0, n, n)),
      FUNCTION("pad", pad(a, {n, 0}, {0, n})),
      FUNCTION("pad", pad(a, {0, 1}, {0, 1}, PadMode::reflect)),
      FUNCTION("pad", pad(a, {0, 1}, {0, 1}, PadMode::constant, b)),
      FUNCTION("diagonal", diagonal(a, n, n, 0)),
      FUNCTION("trace", trace(a, n)),
      OF_AXIS(diag_embed),
      OF_AXIS(diag),
      FUNCTION("slice_assign", slice_assign(a, {{0, 2, n}}, b)),
      FUNCTION("dynamic_slice_assign", dynamic_slice_assign(a, {n, 0}, b)),
      OF_INDICES(gather),
      OF_VALUES(scatter_add),
      OF_INDICES(select),
      OF_VALUES(select_add),
      OF_TWO(embedding),
      OF_AXIS(one_hot),
      OF_INDICES(take),
      FUNCTION("one_hot_fill", one_hot_fill(a, n, 1, 0)),
      FUNCTION("one_hot_fill", one_hot_fill(a, 3, 0.5, 0, n, DType::i32)),
      FUNCTION("scatter", scatter(a, b, c, n, IndexingUpdateOp::add)),
      FUNCTION("scatter", scatter(a, b, a, n, IndexingUpdateOp::mul)),
      FUNCTION("select_assign", select_assign(a, b, c, n, IndexingUpdateOp::add)),
      FUNCTION("select_assign", select_assign(a, b, a, n, IndexingUpdateOp::max)),
      OF_TWO(gather_nd),
      OF_THREE(scatter_nd),
      FUNCTION("scatter_nd", scatter_nd(a, b, c, IndexingUpdateOp::min)),
      OF_TWO(matmul),
      OF_THREE(linear),
      OF_THREE(expert_linear),
      OF_AXIS(route_experts),
      FUNCTION("route_experts", route_experts(ones({2, 4}), 1, {.choice_bias = a, .groups = n})),
      OF_THREE(layer_norm),
      OF_TWO(rms_norm),
      FUNCTION("l2_norm", l2_norm(a)),
      OF_ONE(rope),
      FUNCTION("rope_frequencies", rope_frequencies(n)),
      FUNCTION("rope_frequencies", rope_frequencies(4, 1e4, {}, a)),
      OF_THREE(attention),
      OF_THREE(attention_with_lse),
      OF_THREE(attention_with_weights),
      FUNCTION("paged_attention", paged_attention(a, b, c, a, b, c, n)),
      FUNCTION("causal_conv", causal_conv(a, b, c, a, b)),
      FUNCTION("causal_conv", causal_conv(ones({4, 3}), ones({3, 2}), a, b, c)),
      FUNCTION("gated_delta_rule", gated_delta_rule(a, b, c, a, b, c, a)),
      FUNCTION("gated_delta_rule",
               gated_delta_rule(ones({3, 1, 2}), ones({3, 1, 2}), ones({3, 2, 2}), a, b, c,
                                zeros({2}, DType::i32))),
      FUNCTION("selective_scan", selective_scan(a, b, c, a, b, c, a, b)),
      FUNCTION("selective_scan", selective_scan(ones({3, 2, 2}), a, b, ones({3, 1, 2}),
                                                ones({3, 1, 2}), c, zeros({2}, DType::i32))),
      OF_THREE(conv),
      FUNCTION("conv", conv(a, b, Array(), {.stride = {n}})),
      FUNCTION("conv", conv(a, b, Array(), {.padding = {n, n, n}, .groups = n})),
      OF_THREE(conv_transpose),
      FUNCTION("conv_transpose",
               conv_transpose(a, b, c, {.stride = {n, 1}, .output_padding = {n}})),
      FUNCTION("max_pool", max_pool(a, {n})),
      FUNCTION("max_pool", max_pool(a, {2}, {.stride = {n}, .padding = {n, n}})),
      FUNCTION("max_pool_with_indices", max_pool_with_indices(a, {n}, {.dilation = {n}})),
      FUNCTION("max_pool_backward", max_pool_backward(a, b, {n}, {2})),
      FUNCTION("avg_pool", avg_pool(a, {n})),
      FUNCTION("avg_pool", avg_pool(a, {2, 2, n}, {.padding = {n}})),
      FUNCTION("lp_pool", lp_pool(a, static_cast<double>(n), {n})),
      FUNCTION("lp_pool", lp_pool(a, 2, {n})),
      FUNCTION("adaptive_avg_pool", adaptive_avg_pool(a, {n})),
      FUNCTION("adaptive_max_pool", adaptive_max_pool(a, {n})),
      FUNCTION("adaptive_max_pool_with_indices", adaptive_max_pool_with_indices(a, {n})),
      FUNCTION("interpolate", interpolate(a, {n})),
      FUNCTION("interpolate", interpolate(a, {n, n}, InterpolateMode::cubic)),
      OF_TWO(grid_sample_2d),
      FUNCTION("affine_grid_2d", affine_grid_2d(a, n, 2)),
      FUNCTION("unfold4d", unfold4d(a, {n})),
      FUNCTION("unfold4d", unfold4d(a, {2}, {.stride = {n}, .dilation = {n}})),
      FUNCTION("fold4d", fold4d(a, {n}, {2})),
      FUNCTION("fold4d", fold4d(a, {4}, {2}, {.padding = {n}})),
      OF_AXIS(pixel_shuffle),
      OF_AXIS(pixel_unshuffle),
      OF_TWO(cross_entropy),
      OF_THREE(batch_norm),
      FUNCTION("batch_norm_train", std::get<0>(batch_norm_train(a, b, c))),
      FUNCTION("group_norm", group_norm(a, n, b, c)),
      OF_THREE(instance_norm),
      OF_AXIS(local_response_norm),
      OF_THREE(deform_conv2d),
      FUNCTION("deform_conv2d", deform_conv2d(ones({1, 1, 3, 3}), a, ones({1, 1, 1, 1}), b, c)),
      OF_THREE(binary_cross_entropy),
      OF_THREE(binary_cross_entropy_with_logits),
      OF_TWO(l1_loss),
      OF_TWO(mse_loss),
      FUNCTION("lp_loss", lp_loss(a, b, static_cast<double>(n))),
      FUNCTION("huber_loss", huber_loss(a, b, static_cast<double>(n))),
      FUNCTION("smooth_l1_loss", smooth_l1_loss(a, b, static_cast<double>(n))),
      OF_TWO(kl_div),
      OF_THREE(gaussian_nll_loss),
      OF_TWO(poisson_nll_loss),
      OF_TWO(hinge_embedding_loss),
      OF_TWO(soft_margin_loss),
      OF_THREE(margin_ranking_loss),
      OF_THREE(cosine_embedding_loss),
      FUNCTION("multi_margin_loss", multi_margin_loss(a, b, 1, n, c)),
      OF_THREE(triplet_margin_loss),
      FUNCTION("ctc_loss", ctc_loss(ones({3, 2, 2}), a, b, c, n)),
      FUNCTION("ctc_loss", ctc_loss(a, b, c, c)),
      FUNCTION("rnnt_loss", rnnt_loss(ones({2, 3, 2, 2}), a, b, c, n)),
      FUNCTION("rnnt_loss", rnnt_loss(a, b, c, c)),
      OF_TWO(outer),
      OF_TWO(matvec),
      OF_INDICES(cross),
      OF_AXIS(cov),
      OF_AXIS(corrcoef),
      FUNCTION("vector_norm", vector_norm(a, static_cast<double>(n))),
      FUNCTION("vector_norm", vector_norm(a, 2, {n})),
      FUNCTION("vector_normalize", vector_normalize(a, 2, n)),
      OF_ONE(max_abs),
      OF_AXES(max_abs),
      OF_INDICES(cosine_similarity),
      OF_TWO(cdist),
      OF_TWO(is_close),
      FUNCTION("is_close", is_close(a, b, static_cast<double>(n))),
      OF_TWO(all_close),
      OF_ONE(contains_nan),
      FUNCTION("full", full({n, 2}, a)),
      FUNCTION("full", full({2}, a, DType::u8)),
      FUNCTION("zeros", zeros({n, 2})),
      FUNCTION("ones", ones({n, 2})),
      OF_TWO(full_like),
      OF_ONE(zeros_like),
      OF_ONE(ones_like),
      FUNCTION("empty", empty({n, 2})),
      OF_ONE(empty_like),
      FUNCTION("linspace", linspace(0, 1, n)),
      FUNCTION("linspace", linspace(0, 1, 3, DType::i32)),
      FUNCTION("meshgrid", meshgrid({a, b})),
      FUNCTION("meshgrid", meshgrid(std::vector<Array>())),
      FUNCTION("cartesian_grid", cartesian_grid({n, 2})),
      FUNCTION("diag_mask", diag_mask(n, 2)),
      FUNCTION("arange", arange(0, 5, n, DType::bool_)),
      FUNCTION("linear_ramp", linear_ramp(n, 0, 1, DType::i64)),
      FUNCTION("linear_ramp", linear_ramp(n, 0, 1)),
      FUNCTION("eye", eye(n)),
      FUNCTION("triu_mask", triu_mask(n, 2)),
      FUNCTION("tril_mask", tril_mask(2, n)),
      FUNCTION("triu", triu(a, n)),
      FUNCTION("tril", tril(a, n)),
      FUNCTION("index", index(a, {n})),
      FUNCTION("index", index(a, {0, range(0, 2, n), new_axis})),
      FUNCTION("index_assign", index_assign(a, {n}, b)),
      FUNCTION("index_assign", index_assign(a, {range(0, 2, n)}, b)),
      FUNCTION("dropout", dropout(a, static_cast<double>(n) / 2)),
      OF_ONE(nonzero),
      OF_ONE(argwhere),
      OF_TWO(mask_select),
      OF_ONE(unique),
      OF_ONE(unique_all),
      OF_TWO(searchsorted),
      FUNCTION("searchsorted", searchsorted(a, b, true, DType::i32)),
      OF_TWO(bucketize),
      FUNCTION("quantile", quantile(a, {static_cast<double>(n)})),
      FUNCTION("quantile", quantile(a, {0.25, 1}, n, true, Interpolation::nearest)),
      OF_AXES(var_mean),
      OF_ONE(bincount),
      FUNCTION("bincount", bincount(a, b, n)),
      FUNCTION("bincount", bincount(a, Array(), 0, n)),
      OF_AXIS(histogram),
      FUNCTION("histogram", histogram(a, 3, Bounds{0, static_cast<double>(n)}, b)),
      OF_TWO(histogram_by_edges),
      FUNCTION("multinomial", multinomial(a, n)),
      FUNCTION("categorical", categorical(a, n)),
      FUNCTION("erode", erode(a, b, {.iterations = n})),
      FUNCTION("erode_rectangle", erode_rectangle(a, n, 2, {.border_value = 0.5})),
      FUNCTION("dilate", dilate(a, b, {.anchor = Dims{n, 0}, .border = MorphBorder::wrap})),
      FUNCTION("dilate_rectangle", dilate_rectangle(a, 2, n)),
      OF_ONE(connected_components),
      FUNCTION("connected_components_with_stats", connected_components_with_stats(a)),
      OF_TWO(nms),
      FUNCTION("nms", nms(ones({2, 4}), ones({2}), {.max_boxes = n})),
      FUNCTION("random_uniform", random_uniform({n}, 0, 1)),
      FUNCTION("random_normal", random_normal({n, 2}, 0, 1, DType::i32)),
      FUNCTION("random_bernoulli", random_bernoulli({2}, static_cast<double>(n))),
      FUNCTION("random_integers", random_integers({n}, 0, 5)),
      FUNCTION("random_permutation", random_permutation(n)),
      FUNCTION("random_bits", random_bits({n}, DType::u32)),
      OF_ONE(cholesky),
      OF_ONE(lu_decomposition),
      OF_ONE(lu),
      OF_ONE(qr),
      OF_ONE(svd),
      OF_ONE(svdvals),
      OF_ONE(eigh),
      OF_ONE(eigvalsh),
      OF_TWO(triangular_solve),
      OF_TWO(solve),
      OF_ONE(inverse),
      FUNCTION("pinv", pinv(a, static_cast<double>(n))),
      OF_TWO(lstsq),
      OF_AXIS(matrix_power),
      OF_ONE(det),
      OF_ONE(slogdet),
      FUNCTION("matrix_norm", matrix_norm(a, static_cast<MatrixNorm>(n & 7))),
      FUNCTION("einsum", einsum("ij,jk->ik", {a, b})),
      FUNCTION("einsum", einsum("...i,...j", {a, b, c})),
      OF_INDICES(fft),
      OF_INDICES(ifft),
      OF_AXIS(rfft),
      FUNCTION("rfft", rfft(a, -1, n)),
      OF_INDICES(irfft),
      FUNCTION("irfft", irfft(a, b, -1, n)),
      OF_ONE(hadamard),
      FUNCTION("turbo_quantize", turbo_quantize(a, n)),
      FUNCTION("turbo_dequantize", turbo_dequantize(a, n)),
      FUNCTION("fftn", fftn(a, b, {n, 0})),
      FUNCTION("ifftn", ifftn(a, b, {n})),
      OF_AXES(rfftn),
      FUNCTION("irfftn", irfftn(a, b, {n})),
      OF_TWO(fft2),
      OF_TWO(ifft2),
      FUNCTION("fftfreq", fftfreq(n)),
      FUNCTION("rfftfreq", rfftfreq(n)),
      OF_AXES(fftshift),
      OF_AXES(ifftshift),
      FUNCTION("hann_window", hann_window(n)),
      FUNCTION("hamming_window", hamming_window(n)),
      FUNCTION("blackman_window", blackman_window(n)),
      FUNCTION("stft", stft(a, b, {.n_fft = n})),
      FUNCTION("stft", stft(a, c, {.n_fft = 3, .hop_length = n})),
      FUNCTION("istft", istft(a, b, {.n_fft = n})),
      FUNCTION("compute_range", compute_range(a, QuantScheme().per_block({n}))),
      FUNCTION("compute_q_params", compute_q_params({a, b}, QuantScheme())),
      FUNCTION("quantize", quantize(a, QuantScheme(), {b, c})),
      FUNCTION("quantize_dynamic", quantize_dynamic(a)),
      FUNCTION("quantize_dynamic", quantize_dynamic(a, QuantScheme().per_block({n}))),
      FUNCTION("fake_quantize", fake_quantize(a, QuantScheme().per_block({n}))),
      FUNCTION("fake_quantize", fake_quantize(a, DType::q4_0, b)),
      FUNCTION("affine_quantize", affine_quantize(a, n)),
      FUNCTION("affine_dequantize", affine_dequantize({a, b, c})),
      FUNCTION("affine_fake_quantize", affine_fake_quantize(a, 4, n)),
      FUNCTION("dequantize", dequantize(codes, a.defined() ? a.dtype() : DType::i32)),
      FUNCTION("dequantize", dequantize(QuantizedArray())),
      FUNCTION("quantized_values", quantized_values(QuantizedArray())),
      FUNCTION("quantized_as", quantized_as(a, codes)),
      FUNCTION("quantized_like", quantized_like(a, codes)),
      FUNCTION("to_device", to_device(QuantizedArray(), Device())),
      FUNCTION("to_bytes", to_bytes(QuantizedArray())),
      FUNCTION("quantized_from_bytes", quantized_from_bytes({}, QuantScheme(), {n})),
      FUNCTION("reshape", reshape(codes, {n, 8})),
      FUNCTION("permute", permute(codes, {n, 0})),
      FUNCTION("transpose", transpose(QuantizedArray())),
      FUNCTION("swap_axes", swap_axes(codes, n, 1)),
      FUNCTION("expand", expand(codes, {n, 4, 8})),
      FUNCTION("flip", flip(codes, {n})),
      FUNCTION("slice", slice(codes, {{0, 2, n}, {n, 9}})),
      FUNCTION("select", select(codes, a, n)),
      FUNCTION("gather", gather(codes, a, n)),
      FUNCTION("repeat", repeat(codes, {n, 1})),
      FUNCTION("cat", cat(std::vector{codes, repeat(codes, {1, 2})}, n)),
      FUNCTION("matmul", matmul(codes, a)),
      FUNCTION("matmul", matmul(a, codes)),
      FUNCTION("add", codes + a),
      FUNCTION("sub", a - codes),
      FUNCTION("mul", codes * a),
      FUNCTION("div", a / codes),
      FUNCTION("quantize_weights",
               nn::quantize_weights(linear_layer, {.scheme = QuantScheme().per_block({n})})),
      FUNCTION("fake_quantized",
               nn::fake_quantized(linear_layer, {.scheme = QuantScheme().per_block({n})})),
      FUNCTION("linear", linear_layer.forward(a)),
      FUNCTION("embedding", table.forward(a)),
      FUNCTION("layer_norm", centred.forward(a)),
      FUNCTION("rms_norm", scaled.forward(a)),
      FUNCTION("batch_norm", nn::BatchNorm(3).forward(a)),
      FUNCTION("group_norm", nn::GroupNorm(1, 3).forward(a)),
      FUNCTION("instance_norm", nn::InstanceNorm(3).forward(a)),
      FUNCTION("deform_conv2d", nn::DeformConv2d(3, 2, 1).forward(a, b, c)),
      FUNCTION("cross_entropy", nn::CrossEntropyLoss{}.forward(a, b)),
      FUNCTION("binary_cross_entropy", of_two.forward(a, b)),
      FUNCTION("rnnt_loss", nn::RnntLoss{}.forward(a, b, c, c)),
      FUNCTION("multi_margin_loss", margins.forward(a, b)),
      FUNCTION("feed_forward", gated.forward(a)),
      FUNCTION("multi_head_attention", heads.forward(a)),
      FUNCTION("multi_head_attention", heads.forward(ones({1, 2, 4}), {.mask = a})),
  };
  return list;
}

// What gives no array refuses nothing.
TEST(ErrorNames, AreAskedOfEveryDeclaredFunction) {
  std::set<std::string> asked;
  for (const Function& function : functions()) asked.insert(function.name);
  int checked = 0;
  for (const tools::Function& declared : tools::op_declarations().functions) {
    if (declared.result.find("Array") == std::string::npos) continue;
    EXPECT_TRUE(asked.contains(declared.name)) << declared.name;
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

TEST(ErrorNames, AreThoseOfTheFunctionThatWasCalled) {
  const std::vector<Array> arrays = {
      Array(),
      Array(0.5),
      Array(std::int64_t{1}),
      ones({3}),
      ones({2, 3}),
      ones({3, 2}),
      ones({2, 3}, DType::f64),
      ones({2, 3}, DType::i64),
      zeros({2}, DType::i64),
      ones({2, 3}, DType::bool_),
      ones({2, 3}, DType::bf16),
      zeros({0, 3}),
      zeros({1, 1, 1, 1, 1, 1, 1, 1}),
  };
  std::set<std::string> found;
  std::set<std::string> silent;
  for (const Function& function : functions()) silent.insert(function.name);
  for (const Function& function : functions()) {
    for (const Array& a : arrays) {
      for (const Array& b : arrays) {
        for (const Array& c : {Array(), ones({3}), ones({2, 3}, DType::f64)}) {
          for (const std::int64_t n : {-9, -1, 0, 1, 9}) {
            try {
              function.call(a, b, c, n);
            } catch (const Error& error) {
              silent.erase(function.name);
              const std::string text = error.what();
              const std::string start = std::string(function.name) + ": ";
              if (text.compare(0, start.size(), start) != 0) {
                found.insert(start + "throws `" + text + "`");
              }
            }
          }
        }
      }
    }
  }
  std::string all_of_them;
  for (const std::string& each : found) all_of_them += each + "\n";
  EXPECT_EQ(all_of_them, "");
  EXPECT_EQ(silent, std::set<std::string>()) << "these never refuse anything";
}

TEST(ErrorNames, OfArraysOnDifferentDevices) {
  const Array far = ones({4, 2}, DType::f32, Device::named("hostile"));
  const Array near = ones({4, 2});
  const Array ids = zeros({4}, DType::i64);
  const Array far_heads = reshape(far, {1, 1, 4, 2}), heads = reshape(near, {1, 1, 4, 2});
  const std::pair<std::string, std::function<void()>> calls[] = {
      {"embedding", [&] { (void)embedding(far, ids); }},
      {"stack", [&] { (void)stack({far, near}, 0); }},
      {"clamp_min", [&] { (void)clamp_min(far, near); }},
      {"slice_assign", [&] { (void)slice_assign(far, {}, near); }},
      {"cross_entropy", [&] { (void)cross_entropy(far, ids); }},
      {"attention", [&] { (void)attention(far_heads, heads, heads); }},
  };
  for (const auto& [name, call] : calls) {
    const std::string text = check::error_of(ErrorCode::device, call);
    EXPECT_EQ(text.rfind(name + ": inputs on different devices; got hostile:0 and ", 0), 0u)
        << text;
  }
}

}  // namespace
}  // namespace hearth
