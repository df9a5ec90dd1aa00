// What networks are made of: hearth/ops/{activation, attention, conv, deform_conv, elementwise,
// experts, norm, pool}.h.
#include "tools/bindings/call_lists.h"

#include "hearth/ops.h"
#include "ops/definition/rules.h"
#include "tools/bindings/call_macros.h"

namespace hearth::tools {
namespace {

const char* const kChannels =
    "x [batch, channels, ...], weight [channels], bias [channels] -> [batch, channels, ...]";

}  // namespace

std::vector<FunctionCall> layer_calls() {
  const SampleInput table = {{2, 3}};
  const SampleInput vector = {{3}};
  return {
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
      {"softmin", kSame, {table}, CALL(softmin(in[0]))},
      {"quiet_softmax", kSame, {table}, CALL(quiet_softmax(in[0]))},
      {"to_device", kSame, {table}, CALL(to_device(in[0], in[0].device()))},
      {"conv_transpose",
       "x [batch, in, spatial...], weight [in, out / groups, kernel...], bias [out] -> [batch, "
       "out, "
       "extents...]",
       {{.shape = {1, 2, 4}}, {.shape = {2, 3, 3}}, {.shape = {3}}},
       CALL(conv_transpose(in[0], in[1], in[2]))},
      {"max_pool_backward",
       "grad [batch, channels, positions...], indices [batch, channels, positions...] -> [batch, "
       "channels, extents...]",
       {{.shape = {1, 2, 2}}, {.shape = {1, 2, 2}, .lo = 0, .hi = 3, .dtype = kI64}},
       CALL(max_pool_backward(in[0], in[1], {4}, {2}))},
      {"avg_pool",
       "x [batch, channels, spatial...] -> [batch, channels, positions...]",
       {{.shape = {1, 2, 4}}},
       CALL(avg_pool(in[0], {2}))},
      {"lp_pool",
       "x [batch, channels, spatial...] -> [batch, channels, positions...]",
       {{.shape = {1, 2, 4}}},
       CALL(lp_pool(in[0], 2, {2}))},
      {"adaptive_avg_pool",
       "x [batch, channels, spatial...] -> [batch, channels, sizes...]",
       {{.shape = {1, 2, 4}}},
       CALL(adaptive_avg_pool(in[0], {2}))},
      {"adaptive_max_pool",
       "x [batch, channels, spatial...] -> [batch, channels, sizes...]",
       {{.shape = {1, 2, 4}}},
       CALL(adaptive_max_pool(in[0], {2}))},
      {"adaptive_max_pool_with_indices",
       "x [batch, channels, spatial...] -> values and indices [batch, channels, sizes...]",
       {{.shape = {1, 2, 4}}},
       CALL_OF_ALL(adaptive_max_pool_with_indices(in[0], {2}))},
      {"batch_norm",
       "x [batch, channels, ...], mean [channels], variance [channels], weight [channels], bias "
       "[channels] -> [batch, channels, ...]",
       {table, vector, vector, vector, vector},
       CALL(batch_norm(in[0], in[1], in[2], in[3], in[4]))},
      {"group_norm", kChannels, {table, vector, vector}, CALL(group_norm(in[0], 3, in[1], in[2]))},
      {"instance_norm",
       kChannels,
       {table, vector, vector},
       CALL(instance_norm(in[0], in[1], in[2]))},
      {"local_response_norm", kSame, {table}, CALL(local_response_norm(in[0], 3))},
      {"deform_conv2d",
       "x [batch, in, height, width], offset [batch, 2 * reads, rows, cols], weight [out, in / "
       "weight_groups, kernel rows, kernel cols], mask [batch, reads, rows, cols], bias [out] -> "
       "[batch, out, rows, cols], reads being offset_groups * kernel rows * kernel cols",
       {{.shape = {1, 1, 2, 2}},
        {.shape = {1, 2, 2, 2}},
        {.shape = {2, 1, 1, 1}},
        {.shape = {1, 1, 2, 2}},
        {.shape = {2}}},
       CALL(deform_conv2d(in[0], in[1], in[2], in[3], in[4]))},
      {"attention_with_weights",
       "q [batch, heads, rows, d], k [batch, kv_heads, length, d], v [batch, kv_heads, length, "
       "dv], "
       "mask, bias, lengths [batch], starts [batch], sinks [heads] -> [batch, heads, rows, dv] and "
       "weights [batch, heads, rows, length]; mask and bias broadcast to these",
       {{.shape = {1, 2, 2, 2}}, {.shape = {1, 2, 2, 2}}, {.shape = {1, 2, 2, 2}}},
       CALL_OF_ALL(attention_with_weights(in[0], in[1], in[2]))},
      {"rope_frequencies",
       "divisors [dims / 2] -> [2, dims / 2]",
       {{.shape = {2}, .lo = 1}},
       CALL(rope_frequencies(4, 10000, {}, in[0]))},
      {"route_experts",
       "scores [rows, expert_count], choice_bias [expert_count] -> experts and weights [rows, "
       "used]",
       {table, vector},
       CALL_OF_ALL(route_experts(in[0], 2, {.choice_bias = in[1]}))},
  };
}

}  // namespace hearth::tools
