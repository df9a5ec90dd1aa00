#include "tools/bindings/function_calls.h"

#include <algorithm>
#include <utility>

#include "hearth/ops.h"
#include "hearth/random.h"
#include "ops/definition/rules.h"
#include "tools/op_document.h"

namespace hearth::tools {
namespace {

using Inputs = std::span<const Array>;

// Of a call of `in` and `dtype`.
#define CALL(expression)                   \
  [](Inputs in, DType dtype) {             \
    (void)in, (void)dtype;                 \
    return std::vector<Array>{expression}; \
  }
// The same of a pair.
#define CALL_OF_TWO(expression)                                               \
  [](Inputs in, DType dtype) {                                                \
    (void)dtype;                                                              \
    auto both = expression;                                                   \
    return std::vector<Array>{std::move(both.first), std::move(both.second)}; \
  }

// Not the thread's, which nothing may move.
Generator& source() {
  thread_local Generator generator;
  return generator;
}

const char* const kSame = "x [...] -> [...]";
const char* const kVariables =
    "x [n, variables] -> [variables, variables], or of x [variables, n] for axis 1";

}  // namespace

const std::vector<FunctionCall>& function_calls() {
  const SampleInput table = {{2, 3}};
  const SampleInput ids = {.shape = {2}, .lo = 0, .hi = 1, .dtype = kI64};
  const SampleInput vector = {{3}};
  const SampleInput number = {Shape{}};
  static const std::vector<FunctionCall> calls = {
      {"clamp_min",
       "x [...], low [...] -> [...], both broadcast",
       {table, table},
       CALL(clamp_min(in[0], in[1]))},
      {"clamp_max",
       "x [...], high [...] -> [...], both broadcast",
       {table, table},
       CALL(clamp_max(in[0], in[1]))},
      {"prelu",
       "x [...], weight [] or [channels] -> [...], channels at axis 1, or 0 of rank 1",
       {table, {.shape = {3}}},
       CALL(prelu(in[0], in[1]))},
      {"leaky_relu", kSame, {table}, CALL(leaky_relu(in[0]))},
      {"elu", kSame, {table}, CALL(elu(in[0]))},
      {"celu", kSame, {table}, CALL(celu(in[0]))},
      {"selu", kSame, {table}, CALL(selu(in[0]))},
      {"hard_sigmoid", kSame, {table}, CALL(hard_sigmoid(in[0]))},
      {"hard_swish", kSame, {table}, CALL(hard_swish(in[0]))},
      {"hard_shrink", kSame, {table}, CALL(hard_shrink(in[0]))},
      {"soft_shrink", kSame, {table}, CALL(soft_shrink(in[0]))},
      {"shrink", kSame, {table}, CALL(shrink(in[0]))},
      {"thresholded_relu", kSame, {table}, CALL(thresholded_relu(in[0]))},
      {"threshold", kSame, {table}, CALL(threshold(in[0], 1, 0))},
      {"softplus", kSame, {table}, CALL(softplus(in[0]))},
      {"softsign", kSame, {table}, CALL(softsign(in[0]))},
      {"mish", kSame, {table}, CALL(mish(in[0]))},
      {"log_sigmoid", kSame, {table}, CALL(log_sigmoid(in[0]))},
      {"hardtanh", kSame, {table}, CALL(hardtanh(in[0]))},
      {"relu6", kSame, {table}, CALL(relu6(in[0]))},
      {"glu",
       "x [..., n, ...] -> [..., n / 2, ...], n at axis",
       {{.shape = {2, 4}}},
       CALL(glu(in[0]))},
      {"tanhshrink", kSame, {table}, CALL(tanhshrink(in[0]))},
      {"to_device", kSame, {table}, CALL(to_device(in[0], in[0].device()))},
      {"conv_transpose",
       "x [batch, in, spatial...], weight [in, out / groups, kernel...], bias [out] -> [batch, "
       "out, "
       "extents...]",
       {{.shape = {1, 2, 4}}, {.shape = {2, 3, 3}}, {.shape = {3}}},
       CALL(conv_transpose(in[0], in[1], in[2]))},
      {"mean", kReductionShapes, {table}, CALL(mean(in[0]))},
      {"var", kReductionShapes, {table}, CALL(var(in[0]))},
      {"std", kReductionShapes, {table}, CALL(hearth::std(in[0]))},
      {"sort", kSame, {table}, CALL(hearth::sort(in[0]))},
      {"argsort", kSame, {table}, CALL(argsort(in[0]))},
      {"topk", "x [..., n, ...] -> [..., k, ...], n at axis", {table}, CALL(topk(in[0], 2))},
      {"argtopk", "x [..., n, ...] -> [..., k, ...], n at axis", {table}, CALL(argtopk(in[0], 2))},
      {"topk_with_indices",
       "x [..., n, ...] -> values and indices [..., k, ...], n at axis",
       {table},
       CALL_OF_TWO(topk_with_indices(in[0], 2))},
      {"median",
       "x [...] -> [... without axis, or 1 there with keepdim]",
       {table},
       CALL(median(in[0], 1))},
      {"median_with_indices",
       "x [...] -> values and indices [... without axis, or 1 there with keepdim]",
       {table},
       CALL_OF_TWO(median_with_indices(in[0], 1))},
      {"transpose", "x [..., m, n] -> [..., n, m]", {table}, CALL(transpose(in[0]))},
      {"swap_axes",
       "x [...] -> [..., with the extents at a and b swapped]",
       {table},
       CALL(swap_axes(in[0], 0, 1))},
      {"broadcast_to", "x [...] -> [shape]", {table}, CALL(broadcast_to(in[0], {2, 3}))},
      {"squeeze",
       "x [...] -> [... without axes, or without all extents of 1]",
       {table},
       CALL(squeeze(in[0]))},
      {"unsqueeze",
       "x [...] -> [..., with 1 inserted at each of axes]",
       {table},
       CALL(unsqueeze(in[0], {0}))},
      {"flatten",
       "x [...] -> [..., product of extents first to last, ...]",
       {table},
       CALL(flatten(in[0]))},
      {"slice",
       "x [...] -> [elements that each of slices keeps, ...]",
       {table},
       CALL(slice(in[0], {{0, 1}}))},
      {"narrow",
       "x [..., n, ...] -> [..., length, ...], n at axis",
       {table},
       CALL(narrow(in[0], 0, 0, 1))},
      {"flip", kSame, {table}, CALL(flip(in[0], {0}))},
      {"stack",
       "arrays [...], any number of them -> [..., their number, ...], new at axis",
       {table, table},
       CALL(stack({in[0], in[1]}, 0))},
      {"split",
       "x [..., n, ...] -> for each of sizes [..., size, ...], n at axis",
       {table},
       CALL(split(in[0], {1, 1}, 0)[0])},
      {"chunk",
       "x [..., n, ...] -> up to count of [..., ceil(n / count) or less, ...], n at axis",
       {table},
       CALL(chunk(in[0], 2, 0)[0])},
      {"repeat",
       "x [...] -> [extents of x, each multiplied by that of times]",
       {table},
       CALL(repeat(in[0], {2, 1}))},
      {"movedim",
       "x [...] -> [extents of x, those at source now at destination]",
       {table},
       CALL(movedim(in[0], {0}, {1}))},
      {"roll", kSame, {table}, CALL(roll(in[0], {1}, {0}))},
      {"rot90",
       "x [...] -> [extents of x, those at first and second swapped where times is odd]",
       {table},
       CALL(rot90(in[0]))},
      {"repeat_interleave",
       "x [..., n, ...] -> [..., n * times, ...], n at axis",
       {table},
       CALL(repeat_interleave(in[0], 2, 0))},
      {"pad",
       "x [...], value [] -> [extents of x, each with that of before and of after]",
       {table, number},
       CALL(pad(in[0], {1, 1}, {0, 0}, PadMode::constant, in[1]))},
      {"trace", "x [...] -> [... without both axes]", {table}, CALL(trace(in[0]))},
      {"diag_embed",
       "x [..., n] -> [..., n + |offset|, n + |offset|]",
       {table},
       CALL(diag_embed(in[0]))},
      {"diag",
       "x [n] -> [n + |offset|, n + |offset|]; x [...] -> [... without the last two, length]",
       {table},
       CALL(diag(in[0]))},
      {"slice_assign",
       "x [...], value [...] -> [extents of x], value broadcast to the part",
       {table, table},
       CALL(slice_assign(in[0], {{0, 2}}, in[1]))},
      {"dynamic_slice_assign",
       "x [...], value [extents of the part] -> [...]",
       {table, table},
       CALL(dynamic_slice_assign(in[0], {0, 0}, in[1]))},
      {"embedding",
       "weight [entries, dim], indices [...] -> [..., dim]",
       {table, ids},
       CALL(embedding(in[0], in[1]))},
      {"take",
       "x [..., n, ...], indices [...] -> [..., extents of indices, ...], n at axis",
       {table, ids},
       CALL(take(in[0], in[1], 0))},
      {"one_hot_fill",
       "indices [...] -> [..., classes, ...], new at axis",
       {ids},
       CALL(one_hot_fill(in[0], 3, 1, 0, -1, dtype))},
      {"scatter",
       "x [...], indices [..., m, ...], values [..., m, ...] -> [...], m at axis",
       {table, {.shape = {2, 3}, .lo = 0, .hi = 1, .dtype = kI64}, table},
       CALL(scatter(in[0], in[1], in[2], 0, IndexingUpdateOp::assign))},
      {"select_assign",
       "x [..., n, ...], indices [m], values [..., m, ...] -> [..., n, ...], m at axis",
       {table, ids, table},
       CALL(select_assign(in[0], in[1], in[2], 0, IndexingUpdateOp::assign))},
      {"gather_nd",
       "x [k extents, rest], indices [..., k] -> [..., rest]",
       {table, ids},
       CALL(gather_nd(in[0], in[1]))},
      {"scatter_nd",
       "x [k extents, rest], indices [..., k], values [..., rest] -> [extents of x]",
       {table, ids, number},
       CALL(scatter_nd(in[0], in[1], in[2]))},
      {"one_hot", "indices [...] -> [..., classes]", {ids}, CALL(one_hot(in[0], 3, dtype))},
      {"cross_entropy",
       "logits [..., classes], targets [...] -> [...] for Reduction none, else []",
       {table, ids},
       CALL(cross_entropy(in[0], in[1]))},
      {"outer",
       "a [..., m], b [..., n] -> [..., m, n], leading extents broadcast",
       {table, table},
       CALL(outer(in[0], in[1]))},
      {"matvec",
       "a [..., m, n], b [..., n] -> [..., m], leading extents broadcast",
       {table, {.shape = {3}}},
       CALL(matvec(in[0], in[1]))},
      {"cross",
       "a [..., 3, ...], b [..., 3, ...] -> [..., 3, ...], 3 at axis, both broadcast",
       {table, table},
       CALL(cross(in[0], in[1]))},
      {"cov", kVariables, {table}, CALL(cov(in[0]))},
      {"corrcoef", kVariables, {table}, CALL(corrcoef(in[0]))},
      {"vector_norm", kReductionShapes, {table}, CALL(vector_norm(in[0]))},
      {"vector_normalize", kSame, {table}, CALL(vector_normalize(in[0]))},
      {"max_abs", kReductionShapes, {table}, CALL(max_abs(in[0]))},
      {"cosine_similarity",
       "a [...], b [...] -> [... without axis, or 1 there for keepdim], both broadcast",
       {table, table},
       CALL(cosine_similarity(in[0], in[1]))},
      {"cdist",
       "a [..., m, d], b [..., n, d] -> [..., m, n], leading extents broadcast",
       {table, table},
       CALL(cdist(in[0], in[1]))},
      {"is_close",
       "a [...], b [...] -> [...], both broadcast",
       {table, table},
       CALL(is_close(in[0], in[1]))},
      {"all_close", "a [...], b [...] -> []", {table, table}, CALL(all_close(in[0], in[1]))},
      {"contains_nan", "x [...] -> []", {table}, CALL(contains_nan(in[0]))},
      {"full",
       "value [...] -> [shape], value broadcast",
       {{.shape = {3}}},
       CALL(full({2, 3}, in[0], dtype))},
      {"zeros", "-> [shape]", {}, CALL(zeros({2}, dtype))},
      {"ones", "-> [shape]", {}, CALL(ones({2}, dtype))},
      {"full_like",
       "x [...], value [...] -> [extents of x], value broadcast",
       {table, {.shape = {3}}},
       CALL(full_like(in[0], in[1]))},
      {"zeros_like", kSame, {table}, CALL(zeros_like(in[0]))},
      {"ones_like", kSame, {table}, CALL(ones_like(in[0]))},
      {"empty", "-> [shape]", {}, CALL(empty({2}, dtype))},
      {"empty_like", kSame, {table}, CALL(empty_like(in[0]))},
      {"linspace", "-> [count]", {}, CALL(linspace(0, 1, 2, dtype))},
      {"rope_frequencies",
       "divisors [dims / 2] -> [2, dims / 2]",
       {{.shape = {2}, .lo = 1}},
       CALL(rope_frequencies(4, 10000, {}, in[0]))},
      {"meshgrid",
       "arrays [n], any number of them -> for each [all n], the first two swapped if cartesian",
       {vector, vector},
       CALL(meshgrid({in[0], in[1]})[0])},
      {"cartesian_grid", "-> [shape, rank]", {}, CALL(cartesian_grid({2, 2}, dtype))},
      {"diag_mask", "-> [rows, cols]", {}, CALL(diag_mask(2, 2))},
      {"arange", "-> [ceil((end - start) / step), 0 at least]", {}, CALL(arange(0, 1, 1, dtype))},
      {"linear_ramp", "-> [count]", {}, CALL(linear_ramp(2, 0, 1, dtype))},
      {"eye", "-> [size, size]", {}, CALL(eye(2, dtype))},
      {"triu_mask", "-> [rows, cols]", {}, CALL(triu_mask(2, 2))},
      {"tril_mask", "-> [rows, cols]", {}, CALL(tril_mask(2, 2))},
      {"triu", "x [..., rows, cols] -> [..., rows, cols]", {table}, CALL(triu(in[0]))},
      {"tril", "x [..., rows, cols] -> [..., rows, cols]", {table}, CALL(tril(in[0]))},
      {"random_permutation",
       "-> [count]",
       {},
       CALL(random_permutation(2, dtype, Device(), &source()))},
      {"dropout", kSame, {table}, CALL(dropout(in[0], 0.5, true, &source()))},
  };
  return calls;
}

#undef CALL
#undef CALL_OF_TWO

const FunctionCall* find_call(std::string_view function) {
  const std::vector<FunctionCall>& calls = function_calls();
  const auto found = std::find_if(calls.begin(), calls.end(),
                                  [&](const FunctionCall& call) { return call.name == function; });
  return found == calls.end() ? nullptr : &*found;
}

}  // namespace hearth::tools
