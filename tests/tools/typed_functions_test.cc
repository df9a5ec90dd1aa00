// Functions of ops.h that take an array take a tensor as well: their Errors name them and end in
// the caller's line.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hearth/hearth.h"
#include "tools/bindings/declarations.h"

namespace hearth {
namespace {

// Words of slices (indexing.h), which an overload would make ambiguous.
const std::set<std::string> kWords = {"all"};

struct Call {
  const char* name;
  int line;
  std::function<void()> call;
};

// A call that no function accepts.
#define CALL(function, ...)                                              \
  Call {                                                                 \
    #function, __LINE__, [] { static_cast<void>(function __VA_ARGS__); } \
  }

// No value: what every function refuses.
const Tensor<2> x;
const Tensor<2, Bool> b;
const Tensor<2, Int> i;
const Tensor<1, Int> list;
const Tensor<1> line;
const Tensor<4> wide;

// clang-format off: a call in each line, whose number the Error says.
const std::vector<Call>& calls() {
  static const std::vector<Call> all = {
      CALL(add, (x, x)), CALL(add, (x, 1)),
      CALL(sub, (x, x)), CALL(sub, (x, 1)),
      CALL(mul, (x, x)), CALL(mul, (x, 1)),
      CALL(div, (x, x)), CALL(div, (x, 1)),
      CALL(remainder, (x, x)), CALL(remainder, (x, 1)),
      CALL(fmod, (x, x)), CALL(fmod, (x, 1)), CALL(floor_divide, (x, x)), CALL(floor_divide, (x, 1)),
      CALL(pow, (x, x)), CALL(pow, (x, 2)),
      CALL(maximum, (x, x)), CALL(maximum, (x, 1)),
      CALL(minimum, (x, x)), CALL(minimum, (x, 1)),
      CALL(neg, (x)), CALL(abs, (x)), CALL(sign, (x)), CALL(square, (x)),
      CALL(sqrt, (x)), CALL(rsqrt, (x)), CALL(recip, (x)),
      CALL(exp, (x)), CALL(expm1, (x)), CALL(log, (x)), CALL(log1p, (x)),
      CALL(exp2, (x)), CALL(log2, (x)), CALL(log10, (x)),
      CALL(tanh, (x)), CALL(sigmoid, (x)), CALL(erf, (x)),
      CALL(sin, (x)), CALL(cos, (x)), CALL(tan, (x)),
      CALL(asin, (x)), CALL(acos, (x)), CALL(atan, (x)), CALL(sinh, (x)), CALL(cosh, (x)),
      CALL(asinh, (x)), CALL(acosh, (x)), CALL(atanh, (x)),
      CALL(atan2, (x, x)), CALL(atan2, (x, 1)), CALL(hypot, (x, x)), CALL(hypot, (x, 1)),
      CALL(floor, (x)), CALL(ceil, (x)), CALL(round, (x)), CALL(trunc, (x)),
      CALL(relu, (x)), CALL(gelu, (x)), CALL(gelu, (x, true)), CALL(silu, (x)),
      CALL(leaky_relu, (x)), CALL(prelu, (x, line)), CALL(elu, (x)), CALL(celu, (x)),
      CALL(selu, (x)), CALL(hard_sigmoid, (x)), CALL(hard_swish, (x)), CALL(hard_shrink, (x)),
      CALL(soft_shrink, (x)), CALL(shrink, (x)), CALL(thresholded_relu, (x)),
      CALL(threshold, (x, 1, 0)), CALL(softplus, (x)), CALL(softsign, (x)), CALL(mish, (x)),
      CALL(log_sigmoid, (x)), CALL(hardtanh, (x)), CALL(relu6, (x)), CALL(glu, (x)),
      CALL(tanhshrink, (x)),
      CALL(equal, (x, x)), CALL(equal, (x, 1)),
      CALL(not_equal, (x, x)), CALL(not_equal, (x, 1)),
      CALL(less, (x, x)), CALL(less, (x, 1)),
      CALL(less_equal, (x, x)), CALL(less_equal, (x, 1)),
      CALL(greater, (x, x)), CALL(greater, (x, 1)),
      CALL(greater_equal, (x, x)), CALL(greater_equal, (x, 1)),
      CALL(logical_and, (b, b)), CALL(logical_or, (b, b)), CALL(logical_xor, (b, b)),
      CALL(logical_not, (b)), CALL(signbit, (x)), CALL(is_nan, (x)), CALL(is_inf, (x)), CALL(is_finite, (x)),
      CALL(bitwise_and, (i, i)), CALL(bitwise_and, (i, 1)), CALL(bitwise_or, (i, i)),
      CALL(bitwise_or, (i, 1)), CALL(bitwise_xor, (i, i)), CALL(bitwise_xor, (i, 1)),
      CALL(bitwise_not, (i)), CALL(bitwise_left_shift, (i, i)), CALL(bitwise_left_shift, (i, 1)),
      CALL(bitwise_right_shift, (i, i)), CALL(bitwise_right_shift, (i, 1)),
      CALL(where, (b, x, x)), CALL(where, (b, x, 0)), CALL(where, (b, 0, x)),
      CALL(clamp, (x, 0, 1)), CALL(clamp_min, (x, 0)), CALL(clamp_max, (i, 1)),
      CALL(lerp, (x, x, x)), CALL(lerp, (x, x, 0.5)),
      CALL(cast, (x, DType::f16)), CALL(to_device, (x, Device::cpu())),
      CALL(sum, (x)), CALL(mean, (x)), CALL(var, (x)), CALL(std, (x)), CALL(prod, (x)),
      CALL(max, (x)), CALL(min, (x)), CALL(any, (x)),
      CALL(argmax, (x, 1)), CALL(argmin, (x, 1)),
      CALL(max_with_indices, (x, 1)), CALL(min_with_indices, (x, 1)),
      CALL(sort, (x, 1)), CALL(argsort, (x, 1, true)),
      CALL(sort_with_indices, (x, 1)), CALL(sort_with_indices, (x, 1, true)),
      CALL(topk, (x, 1, 1)), CALL(argtopk, (x, 1, 0)), CALL(topk_with_indices, (x, 1, 0)),
      CALL(median, (x, 1)), CALL(median_with_indices, (x, 1)),
      CALL(cumsum, (x, 1)), CALL(cumprod, (x, 1)), CALL(cummax, (x, 1)), CALL(cummin, (x, 1)),
      CALL(cummax_with_indices, (x, 1)), CALL(cummin_with_indices, (x, 1)),
      CALL(logcumsumexp, (x, 1)),
      CALL(softmax, (x, 1)), CALL(log_softmax, (x, 1)), CALL(logsumexp, (x, 1)),
      CALL(softmin, (x, 1)), CALL(quiet_softmax, (x, 1)),
      CALL(reshape, (x, {4, -1, 1})), CALL(permute, (x, {1, 0})), CALL(transpose, (x)),
      CALL(swap_axes, (x, 0, 1)), CALL(expand, (x, {2, 2, 2})),
      CALL(broadcast_to, (x, {2, 2, 2})),
      CALL(squeeze, <1>(x)), CALL(squeeze, (x, {0})), CALL(unsqueeze, (x, {0, 3})),
      CALL(flatten, <1>(x)), CALL(flatten, <2>(wide, 1, 3)),
      CALL(slice, (x, {{0, 1}, {1, 2}})), CALL(slice_assign, (x, {{0, 1}}, x)),
      CALL(narrow, (x, 0, 1, 1)), CALL(dynamic_slice, (x, {0, 0}, {1, 1})),
      CALL(dynamic_slice_assign, (x, {0, 0}, x)),
      CALL(flip, (x, {0})), CALL(contiguous, (x)), CALL(repeat, (x, {2, 1})),
      CALL(cat, ({x, x}, 0)), CALL(cat, (std::vector{x, x}, 0)),
      CALL(stack, ({x, x}, 0)), CALL(stack, (std::vector{x, x}, 0)),
      CALL(split, (x, {1, 2}, 0)), CALL(chunk, (x, 2, 0)),
      CALL(gather, (x, i, 0)), CALL(scatter_add, (x, i, x, 0)),
      CALL(select, (x, list, 0)), CALL(select_add, (x, list, x, 0)),
      CALL(embedding, (x, i)), CALL(one_hot, (list, 3)),
      CALL(matmul, (x, x)), CALL(linear, (wide, x)), CALL(layer_norm, (x)), CALL(rms_norm, (x)),
      CALL(l2_norm, (x)),
      CALL(rope, (x)), CALL(attention, (wide, wide, wide)),
      CALL(attention_with_lse, (wide, wide, wide)),
      CALL(attention_with_weights, (wide, wide, wide)),
      CALL(paged_attention, (Tensor<3>(), Tensor<3>(), Tensor<3>(), i, list, list, 4)),
      CALL(causal_conv, (x, x, Tensor<3>(), list)),
      CALL(gated_delta_rule, (Tensor<3>(), Tensor<3>(), Tensor<3>(), x, x, wide, list)),
      CALL(selective_scan, (Tensor<3>(), x, line, Tensor<3>(), Tensor<3>(), wide, list)),
      CALL(conv, (wide, wide)), CALL(conv_transpose, (wide, wide)), CALL(cross_entropy, (x, list)),
      CALL(batch_norm, (x, line, line)), CALL(batch_norm_train, (x)), CALL(group_norm, (x, 1)),
      CALL(instance_norm, (x)), CALL(local_response_norm, (x, 3)),
      CALL(deform_conv2d, (wide, wide, wide)),
      CALL(binary_cross_entropy, (x, x)), CALL(binary_cross_entropy_with_logits, (x, i)),
      CALL(l1_loss, (x, x)), CALL(mse_loss, (x, x)), CALL(lp_loss, (x, x, 3)),
      CALL(huber_loss, (x, x)), CALL(smooth_l1_loss, (x, x)), CALL(kl_div, (x, x)),
      CALL(gaussian_nll_loss, (x, x, x)), CALL(poisson_nll_loss, (x, x)),
      CALL(hinge_embedding_loss, (x, i)), CALL(soft_margin_loss, (x, x)),
      CALL(margin_ranking_loss, (x, x, i)), CALL(cosine_embedding_loss, (x, x, list)),
      CALL(multi_margin_loss, (x, list)), CALL(triplet_margin_loss, (x, x, x)),
      CALL(l1_loss, (x, x, Reduction::none)),
      CALL(ctc_loss, (Tensor<3>(), i, list, list)), CALL(rnnt_loss, (wide, i, list, list)),
      CALL(max_pool, (wide, {2})), CALL(max_pool_with_indices, (wide, {2})),
      CALL(max_pool_backward, (wide, Tensor<4, Int>(), {4, 4}, {2})),
      CALL(avg_pool, (wide, {2})), CALL(lp_pool, (wide, 2, {2})),
      CALL(adaptive_avg_pool, (wide, {2})), CALL(adaptive_max_pool, (wide, {2})),
      CALL(adaptive_max_pool_with_indices, (wide, {2})), CALL(interpolate, (wide, {2, 2})),
      CALL(grid_sample_2d, (wide, wide)), CALL(affine_grid_2d, (Tensor<3>(), 2, 2)),
      CALL(unfold4d, (wide, {2})), CALL(fold4d, (Tensor<3>(), {4}, {2})),
      CALL(pixel_shuffle, (wide, 2)), CALL(pixel_unshuffle, (wide, 2)),
      CALL(zeros_like, (x)), CALL(ones_like, (x)), CALL(full_like, (x, 1)),
      CALL(movedim, (x, {0}, {1})), CALL(roll, (x, {1}, {0})), CALL(rot90, (x)),
      CALL(repeat_interleave, (x, 2, 0)), CALL(unfold, (x, 0, 1)),
      CALL(pad, (x, {1, 1}, {0, 0})), CALL(pad, (x, {1, 1}, {0, 0}, PadMode::constant, 2)),
      CALL(diagonal, (x)), CALL(trace, (x)), CALL(diag_embed, (x)), CALL(diag, (x)),
      CALL(empty_like, (x)), CALL(meshgrid, ({list, list})),
      CALL(take, (x, i, 0)), CALL(one_hot_fill, (list, 3, 1, 0)),
      CALL(scatter, (x, i, x, 0, IndexingUpdateOp::mul)),
      CALL(select_assign, (x, list, x, 0, IndexingUpdateOp::mul)),
      CALL(gather_nd, <2>(x, i)), CALL(scatter_nd, (x, i, x)),
      CALL(outer, (x, x)), CALL(matvec, (wide, Tensor<3>())), CALL(cross, (x, x)),
      CALL(cov, (x)), CALL(corrcoef, (x)),
      CALL(vector_norm, (x)), CALL(vector_norm, (x, 1, 0)), CALL(vector_normalize, (x)),
      CALL(max_abs, (x)), CALL(cosine_similarity, (x, x)), CALL(cdist, (x, x)),
      CALL(is_close, (x, x)), CALL(all_close, (x, x)), CALL(contains_nan, (x)),
      CALL(triu, (x)), CALL(tril, (x, 1)), CALL(dropout, (x, 0.5)),
      CALL(cholesky, (x)), CALL(lu_decomposition, (x)), CALL(lu, (x)), CALL(qr, (x)),
      CALL(svd, (x)), CALL(svdvals, (x)), CALL(eigh, (x)), CALL(eigvalsh, (x)),
      CALL(triangular_solve, (x, x)), CALL(solve, (x, x)), CALL(inverse, (x)), CALL(pinv, (x)),
      CALL(lstsq, (x, x)), CALL(matrix_power, (x, 2)), CALL(det, (x)), CALL(slogdet, (x)),
      CALL(matrix_norm, (x)),
      CALL(hadamard, (x)),
      CALL(fft, (x, x)), CALL(ifft, (x, x)), CALL(rfft, (x)), CALL(irfft, (x, x)),
      CALL(fftn, (x, x, {0})), CALL(ifftn, (x, x, {0})), CALL(rfftn, (x, {0})),
      CALL(irfftn, (x, x, {0})), CALL(fft2, (x, x)), CALL(ifft2, (x, x)),
      CALL(fftshift, (x, {0})), CALL(ifftshift, (x, {0})),
      CALL(stft, (x, line, {.n_fft = 4})), CALL(istft, (wide, line, {.n_fft = 4})),
      CALL(nonzero, (x)), CALL(argwhere, (x)), CALL(mask_select, (x, b)), CALL(unique, (x)),
      CALL(unique_all, (x)), CALL(searchsorted, (x, x)), CALL(searchsorted, (line, x)),
      CALL(bucketize, (x, line)), CALL(quantile, (x, {0.5})), CALL(quantile, (x, {0.5}, 1)),
      CALL(var_mean, (x, {1})), CALL(bincount, (i)), CALL(bincount, (i, x)),
      CALL(histogram, (x, 2)), CALL(histogram_by_edges, (x, line)),
      CALL(multinomial, (x, 1)), CALL(categorical, (x, 1)),
      CALL(erode, (x, b)), CALL(erode_rectangle, (x, 3, 3)),
      CALL(dilate, (x, b)), CALL(dilate_rectangle, (x, 3, 3)),
      CALL(connected_components, (b)), CALL(connected_components_with_stats, (b)),
      CALL(nms, (x, line)),
      CALL(expert_linear, (x, Tensor<3>(), i)), CALL(route_experts, (x, 2)),
  };
  return all;
}
// clang-format on

TEST(TypedFunctions, AreAllThatTakeAnArray) {
  std::set<std::string> declared;
  for (const tools::Function& function : tools::op_declarations().functions) {
    if (function.parameters.empty()) continue;
    if (function.parameters[0].type.find("Array") != std::string::npos) {
      declared.insert(function.name);
    }
  }
  for (const std::string& word : kWords) EXPECT_EQ(declared.erase(word), 1U) << word;
  std::set<std::string> typed;
  for (const Call& each : calls()) typed.insert(each.name);
  EXPECT_EQ(typed, declared);
  EXPECT_GT(declared.size(), 100U);
}

TEST(TypedFunctions, SayInErrorsWhatWasCalledAndWhere) {
  for (const Call& each : calls()) {
    SCOPED_TRACE(std::string(each.name) + " in line " + std::to_string(each.line));
    try {
      each.call();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(std::string(each.name) + ": ")) << text;
      EXPECT_TRUE(text.ends_with(" at " __FILE__ ":" + std::to_string(each.line))) << text;
    }
  }
}

TEST(TypedFunctions, TakeArgumentsInTheOrderOfArrays) {
  const Tensor<2> v{{1, 5, 3}, {4, 2, 6}};
  const Tensor<2, Int> at{{2, 0}, {1, 1}};
  const Tensor<1, Int> column{2};
  const auto same = [](const auto& tensor, const Array& array) {
    EXPECT_EQ(tensor.array().shape(), array.shape());
    EXPECT_EQ(tensor.array().dtype(), array.dtype());
    EXPECT_EQ(tensor.array().to_doubles(), array.to_doubles());
  };
  const Array& a = v.array();
  same(argmax(v, 1), argmax(a, 1, true));
  same(argmin(v, 0), argmin(a, 0, true));
  same(max_with_indices(v, 1).second, max_with_indices(a, 1, true).second);
  same(min_with_indices(v, 1).first, min_with_indices(a, 1, true).first);
  same(sort(v, 0), sort(a, 0));
  same(sort(v, 1, true), sort(a, 1, true));
  same(argsort(v, 1), argsort(a, 1));
  same(sort_with_indices(v, 1, true).second, sort_with_indices(a, 1, true).second);
  same(topk(v, 2, 1), topk(a, 2, 1));
  same(argtopk(v, 1, 0), argtopk(a, 1, 0));
  same(topk_with_indices(v, 2, 1).first, topk_with_indices(a, 2).first);
  same(median(v, 1), median(a, 1, true));
  same(median_with_indices(v, 0).second, median_with_indices(a, 0, true).second);
  same(cumsum(v, 0), cumsum(a, 0));
  same(cummin_with_indices(v, 1).second, cummin_with_indices(a, 1).second);
  same(reshape(v, {3, -1}), reshape(a, {3, -1}));
  same(permute(v, {1, 0}), permute(a, {1, 0}));
  same(swap_axes(v, 0, 1), swap_axes(a, 0, 1));
  same(expand(v, {2, 2, 3}), expand(a, {2, 2, 3}));
  same(broadcast_to(v, {2, 2, 3}), broadcast_to(a, {2, 2, 3}));
  same(unsqueeze(v, {0, 3}), unsqueeze(a, {0, 3}));
  same(squeeze(unsqueeze(v, {0, 3}), {0, 3}), a);
  same(squeeze<2>(unsqueeze(v, {1})), a);
  same(flatten<1>(v), flatten(a));
  same(slice(v, {{0, 1}, {1, 3}}), slice(a, {{0, 1}, {1, 3}}));
  same(slice_assign(v, {{0, 1}}, v[from(1)]), slice_assign(a, {{0, 1}}, slice(a, {{1, 2}})));
  same(narrow(v, 1, 1, 2), narrow(a, 1, 1, 2));
  same(dynamic_slice(v, {1, 1}, {1, 2}), dynamic_slice(a, {1, 1}, {1, 2}));
  same(dynamic_slice_assign(v, {1, 0}, narrow(v, 0, 0, 1)),
       dynamic_slice_assign(a, {1, 0}, narrow(a, 0, 0, 1)));
  same(flip(v, {1}), flip(a, {1}));
  same(repeat(v, {1, 2}), repeat(a, {1, 2}));
  same(split(v, {1, 2}, 1)[1], split(a, {1, 2}, 1)[1]);
  same(chunk(v, 2, 1)[0], chunk(a, 2, 1)[0]);
  same(gather(v, at, 1), gather(a, at.array(), 1));
  same(scatter_add(v, at, narrow(v, 1, 0, 2), 1),
       scatter_add(a, at.array(), narrow(a, 1, 0, 2), 1));
  same(select_add(v, column, narrow(v, 1, 0, 1), 1),
       select_add(a, column.array(), narrow(a, 1, 0, 1), 1));
  same(one_hot(column, 4), one_hot(column.array(), 4, DType::i64));
  same(lerp(v, v + 2, 0.25), lerp(a, add(a, 2), 0.25));
  same(clamp_min(v, 3), clamp_min(a, 3));
  same(clamp_max(v, 3), clamp_max(a, 3));
  same(cast(v, DType::f64), cast(a, DType::f64));
  same(full_like(v, 7), full_like(a, 7));
  same(triu(v, 1), triu(a, 1));
  same(tril(v), tril(a));
  same(var(v), reshape(var(a), {1}));
  same(std(v), reshape(std(a), {1}));
  same(movedim(v, {0}, {1}), movedim(a, {0}, {1}));
  same(roll(v, {1}, {1}), roll(a, {1}, {1}));
  same(rot90(v, 1, 1, 0), rot90(a, 1, 1, 0));
  same(repeat_interleave(v, 2, 1), repeat_interleave(a, 2, 1));
  same(repeat_interleave(v, {2, 0, 1}, 1), repeat_interleave(a, {2, 0, 1}, 1));
  same(signbit(v), signbit(a));
  same(unfold(v, 1, 2), unfold(a, 1, 2));
  same(pad(v, {1, 0}, {0, 2}), pad(a, {1, 0}, {0, 2}));
  same(pad(v, {1, 0}, {0, 2}, PadMode::constant, 7), pad(a, {1, 0}, {0, 2}, PadMode::constant, 7));
  same(v.pad({{1, 2}}, PadMode::reflect), pad(a, {0, 1}, {0, 2}, PadMode::reflect));
  same(v.pad({{1, 0}, {0, 2}}, 0.5), pad(a, {1, 0}, {0, 2}, PadMode::constant, 0.5));
  same(diagonal(v, 1), diagonal(a, 1));
  same(trace(v), reshape(trace(a), {1}));
  same(linalg::trace(v), reshape(trace(a), {1}));
  same(linalg::diag(v), diag(a));
  same(diag_embed(v, 1), diag_embed(a, 1));
  same(diag(v), diag(a));
  same(take(v, at, 1), take(a, at.array(), 1));
  same(one_hot_fill(column, 4, 5, -1, 0), one_hot_fill(column.array(), 4, 5, -1, 0, DType::i64));
  same(scatter(v, at, narrow(v, 1, 0, 2), 1, IndexingUpdateOp::max),
       scatter(a, at.array(), narrow(a, 1, 0, 2), 1, IndexingUpdateOp::max));
  same(select_assign(v, column, narrow(v, 1, 0, 1), 1, IndexingUpdateOp::mul),
       select_assign(a, column.array(), narrow(a, 1, 0, 1), 1, IndexingUpdateOp::mul));
  const Tensor<2, Int> places{{1, 2}, {0, 0}};
  same(gather_nd<1>(v, places), gather_nd(a, places.array()));
  same(scatter_nd(v, places, Tensor<1>{7, 8}),
       scatter_nd(a, places.array(), Tensor<1>{7, 8}.array()));
  same(outer(v, v), outer(a, a));
  same(matvec(v, Tensor<1>{1, 2, 3}), matvec(a, Tensor<1>{1, 2, 3}.array()));
  same(cross(v, v + 1, 1), cross(a, add(a, 1), 1));
  same(cov(v, 1, 0), cov(a, 1, 0));
  same(corrcoef(v, 1), corrcoef(a, 1));
  same(vector_norm(v, 3), reshape(vector_norm(a, 3), {1}));
  same(vector_norm(v, 1, 0), vector_norm(a, 1, {0}, true));
  same(linalg::l2_norm(v, 1), vector_norm(a, 2, {1}, true));
  same(linalg::min_abs_norm(v, 1), min(abs(a), {1}, true));
  same(vector_normalize(v, 1, 0), vector_normalize(a, 1, 0));
  same(v.max_abs_dim(1), max_abs(a, {1}, true));
  same(cosine_similarity(v, v + 1, 0), cosine_similarity(a, add(a, 1), 0, true));
  same(cdist(v, v, 1), cdist(a, a, 1));
  same(is_close(v, v + 1, 0.5), is_close(a, add(a, 1), 0.5));
  EXPECT_TRUE(all_close(v, v));
  EXPECT_FALSE(all_close(v, v + 1));
  same(contains_nan(v), reshape(contains_nan(a), {1}));
  const Tensor<2> w = v + 1;
  const Array& more = w.array();
  const Tensor<1> each{0.5, 2, 3};
  const Array& c = each.array();
  same(batch_norm(v, each, each, each, each, 0.1), batch_norm(a, c, c, c, c, 0.1));
  same(std::get<0>(batch_norm_train(v, each, each, 0.1)),
       std::get<0>(hearth::batch_norm_train(a, c, c, 0.1)));
  same(std::get<2>(batch_norm_train(v)), std::get<2>(hearth::batch_norm_train(a)));
  same(group_norm(v, 1, each), group_norm(a, 1, c));
  same(instance_norm(v, std::nullopt, each), instance_norm(a, Array(), c));
  same(local_response_norm(v, 3, 0.5, 2, 3), local_response_norm(a, 3, 0.5, 2, 3));
  const auto loss = [](const Array& one) { return reshape(one, {1}); };
  same(loss::huber_loss(v, w, 0.5, Reduction::sum), loss(huber_loss(a, more, 0.5, Reduction::sum)));
  same(smooth_l1_loss(v, w, 0.5), loss(smooth_l1_loss(a, more, 0.5)));
  same(lp_loss(v, w, 3), loss(lp_loss(a, more, 3)));
  same(kl_div(v, w, true), loss(kl_div(a, more, true)));
  same(gaussian_nll_loss(v, v, w, true), loss(gaussian_nll_loss(a, a, more, true)));
  same(poisson_nll_loss(v, w, false, true), loss(poisson_nll_loss(a, more, false, true)));
  same(binary_cross_entropy_with_logits(v, w, v),
       loss(binary_cross_entropy_with_logits(a, more, a)));
  same(margin_ranking_loss(v, w, v, 2), loss(margin_ranking_loss(a, more, a, 2)));
  same(multi_margin_loss(v, Tensor<1, Int>{1, 2}, 2, 2, each),
       loss(multi_margin_loss(a, Tensor<1, Int>{1, 2}.array(), 2, 2, c)));
  same(triplet_margin_loss(v, w, v, 2, 3, true), loss(triplet_margin_loss(a, more, a, 2, 3, true)));
  const Tensor<3> logs = Tensor<3>::zeros({3, 1, 2});
  const Tensor<1, Int> length{1};
  same(module::ctc_loss(logs, Tensor<2, Int>{{1}}, length, length),
       ctc_loss(logs.array(), Tensor<2, Int>{{1}}.array(), length.array(), length.array()));
  same(module::ctc_loss(logs, Tensor<2, Int>{{1}}, length, length, 0, Reduction::sum),
       loss(ctc_loss(logs.array(), Tensor<2, Int>{{1}}.array(), length.array(), length.array())));
  const auto grids = meshgrid({column, Tensor<1, Int>{4, 5}});
  same(grids[1], meshgrid({column.array(), Tensor<1, Int>{4, 5}.array()})[1]);
  same(linalg::outer_dim(v, v, 1), outer(a, a));
  same(linalg::outer_dim(v, v, 0), mul(unsqueeze(a, {1}), unsqueeze(a, {0})));
  same(grid::meshgrid_stack({column, Tensor<1, Int>{4, 5}}),
       reshape(Array::from_data(std::vector<std::int64_t>{2, 4, 2, 5}, {4}), {1, 2, 2}));
  same(v.movedim(0, 1), transpose(a));
  same(v.var_bias(1), var(a, {1}, true, 0));
  same(v.var_mean(0).first, var(a, {0}, true));
  same(v.var_mean_bias(0).second, mean(a, {0}, true));
  const Tensor<1> edges{0, 2, 4};
  same(nonzero(v - 1)[1], nonzero(sub(a, 1))[1]);
  same(argwhere(v > 3), argwhere(greater(a, 3)));
  same(mask_select(v, v > 3), mask_select(a, greater(a, 3)));
  same(unique(v), unique(a));
  same(std::get<2>(unique_all(v)), std::get<2>(unique_all(a)));
  same(searchsorted(edges, v, true), searchsorted(edges.array(), a, true));
  same(searchsorted(sort(v, 1), v), searchsorted(sort(a, 1), a));
  same(bucketize(v, edges), bucketize(a, edges.array()));
  same(quantile(v, {0.5, 0.7}), quantile(a, {0.5, 0.7}));
  same(quantile(v, {0.5}, 0), quantile(a, {0.5}, 0, true));
  same(var_mean(v, {1}, 0).first, var(a, {1}, true, 0));
  same(bincount(column, 5), bincount(column.array(), Array(), 5));
  same(bincount(column, Tensor<1>{0.5}), bincount(column.array(), Tensor<1>{0.5}.array()));
  same(histogram(v, 2, Bounds{0, 5}).first, histogram(a, 2, Bounds{0, 5}).first);
  same(histogram_by_edges(v, edges), histogram_by_edges(a, edges.array()));
  same(histogram_by_edges(v, edges, v), histogram_by_edges(a, edges.array(), a));
  same(histogram(v, 2, Bounds{0, 5}, v).first, histogram(a, 2, Bounds{0, 5}, a).first);
  same(bincount(column, 5, 9), bincount(column.array(), Array(), 5, 9));
  same(bincount(column, Tensor<1>{0.5}, 0, 9),
       bincount(column.array(), Tensor<1>{0.5}.array(), 0, 9));
  same(searchsorted(edges, v, true, DType::i32), searchsorted(edges.array(), a, true, DType::i32));
  Generator once{3, 0}, again{3, 0};
  same(multinomial(v, 2, false, &once), multinomial(a, 2, false, &again));
  same(v.categorical(4, &once), categorical(a, 4, &again));
  same(erode(v, v > 0), erode(a, greater(a, 0)));
  same(dilate_rectangle(v, 1, 3), dilate_rectangle(a, 1, 3));
  same(connected_components(v > 3), connected_components(greater(a, 3)));
  const auto stats = connected_components_with_stats(v > 3).second;
  same(stats.area, Array::from_data(std::vector<std::int64_t>{3, 3}, {2}));
  same(stats.max_label, ones({1}, DType::i64));
  same(nms(Tensor<2>{{0, 0, 1, 1}}, Tensor<1>{1}), zeros({1}, DType::i64));
  same(v.select_dim(1, -1), squeeze(narrow(a, 1, 2, 1), {1}));
  same(v.iter_dim(0)[1], narrow(a, 0, 1, 1));
  same(v.sum_dims_squeeze({0}), sum(a, {0}));
  same(v.deg2rad().rad2deg().round(), a);
  same(activation::softmin(v, 1), softmax(neg(a), 1));
  same((activation::quiet_softmax(v, 1) - exp(v) / (exp(v).sum_dim(1) + 1)).abs() > 1e-6,
       zeros({2, 3}, DType::bool_));
  EXPECT_EQ((Tensor<2, Int>::zeros({2, 2}).random_like(Uniform(0, 5)).dtype()), DType::i64);
  same(Tensor<2, Int>::cartesian_grid({3}), cartesian_grid({3}));
  same(Tensor<1>::linspace(0, 1, 5), linspace(0, 1, 5));
}

}  // namespace
}  // namespace hearth
