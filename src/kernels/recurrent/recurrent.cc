// Mixers over ragged batches: the kernels of this folder.
#include <algorithm>
#include <limits>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/recurrent/params.h"

namespace {

constexpr std::int64_t kConvThreads = 128;
// Rows that a thread of a convolution has where there are enough to fill the device with.
constexpr std::int64_t kConvRows = 4;
// Simdgroups of a threadgroup: of a delta rule, at most; of a scan.
constexpr std::int64_t kDeltaSimdgroups = 16, kScanSimdgroups = 4;
// What registers of a lane hold of a state, in elements: the fewest that do are taken.
constexpr std::int64_t kDeltaOwn[] = {4, 8};
constexpr std::int64_t kScanOwn[] = {1, 2, 4, 8, 16};

bool is_given(const Signature& signature, std::size_t i) {
  return i < signature.inputs.size() && !signature.inputs[i].absent;
}

// The first of `held` of which `lanes` lanes have `elements`; 0 if none does.
template <std::size_t kCount>
std::int64_t own_elements(const std::int64_t (&held)[kCount], std::int64_t elements,
                          std::int64_t lanes) {
  for (const std::int64_t each : held) {
    if (each * lanes >= elements) return each;
  }
  return 0;
}

SequenceParams sequence_params(const Signature& signature, int starts, std::int64_t sequences) {
  const TensorSpec& spec = signature.inputs[static_cast<std::size_t>(starts)];
  return {.rows = signature.inputs[0].shape[0],
          .sequences = sequences,
          .starts_base = strided_operand(spec, starts).base,
          .starts_step = spec.strides[0]};
}

// Positions of rows are ints, and sequences with the padding an axis of threadgroups.
bool fits_batch(const Signature& signature, std::int64_t sequences, std::int64_t layers) {
  return signature.inputs[0].shape[0] < std::numeric_limits<std::int32_t>::max() &&
         sequences < kMaxLayers && layers <= kMaxLayers;
}

Size3 batch_groups(std::int64_t columns, std::int64_t layers, std::int64_t sequences) {
  return {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(layers),
          static_cast<std::uint32_t>(sequences + 1)};
}

bool conv_accepts(const Signature& signature) {
  return fits_batch(signature, signature.inputs[2].shape[0], 1) &&
         signature.inputs[1].shape[1] < std::numeric_limits<std::int32_t>::max();
}

Prepared prepare_causal_conv(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec &x = signature.inputs[0], &weight = signature.inputs[1],
                   &state = signature.inputs[2];
  const std::int64_t rows = x.shape[0], channels = x.shape[1], sequences = state.shape[0];
  if (channels == 0) return prepared_steps(std::move(plan));
  const bool has_bias = is_given(signature, 4);
  const StridedOperand from = strided_operand(x, 0), taps = strided_operand(weight, 1),
                       old = strided_operand(state, 2);
  const StridedOperand bias = has_bias ? strided_operand(signature.inputs[4], 4) : taps;
  const CausalConvParams params{.batch = sequence_params(signature, 3, sequences),
                                .channels = channels,
                                .taps = weight.shape[1],
                                .x_base = from.base,
                                .x_row = x.strides[0],
                                .x_channel = x.strides[1],
                                .weight_base = taps.base,
                                .weight_channel = weight.strides[0],
                                .weight_tap = weight.strides[1],
                                .bias_base = bias.base,
                                .bias_step = has_bias ? signature.inputs[4].strides[0] : 0,
                                .state_base = old.base,
                                .state_sequence = state.strides[0],
                                .state_row = state.strides[1],
                                .state_channel = state.strides[2]};
  const std::int64_t columns = ceil_div(channels, kConvThreads);
  // A sequence may have all rows.
  const std::int64_t fill = resident_groups(*signature.device, kConvThreads) / columns;
  const std::int64_t layers = std::clamp<std::int64_t>(
      ceil_div(rows, kConvRows), 1, std::min(kMaxLayers, std::max<std::int64_t>(fill, 1)));
  plan->add_step(
      KernelCall("recurrent/causal_conv.metal", "causal_conv",
                 {dtype_struct(x.dtype), dtype_struct(weight.dtype), dtype_struct(state.dtype),
                  truth(has_bias)})
          .read(dialect_type(x.dtype), "x", from.argument)
          .read(dialect_type(weight.dtype), "weight", taps.argument)
          .read(dialect_type(weight.dtype), "bias", bias.argument)
          .read(dialect_type(state.dtype), "state", old.argument)
          .read("int", "starts", input_argument(signature, 3))
          .write(dialect_type(x.dtype), "y", output_argument(signature))
          .write(dialect_type(state.dtype), "next", output_argument(signature, 1))
          .constants(params)
          .step(*plan, batch_groups(columns, layers, sequences), {kConvThreads}, kConvThreads));
  return prepared_steps(std::move(plan));
}

bool delta_accepts(const Signature& signature) {
  const Shape& state = signature.inputs[5].shape;
  return fits_batch(signature, state[0], state[1]) &&
         own_elements(kDeltaOwn, state[2], kDeltaSimdgroups) > 0;
}

Prepared prepare_delta_rule(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec &q = signature.inputs[0], &k = signature.inputs[1], &v = signature.inputs[2],
                   &g = signature.inputs[3], &beta = signature.inputs[4],
                   &state = signature.inputs[5];
  const std::int64_t sequences = state.shape[0], heads = state.shape[1], dk = state.shape[2],
                     dv = state.shape[3];
  if (heads * dv == 0) return prepared_steps(std::move(plan));
  const bool tiled = ParamReader(signature.statics).boolean();
  const StridedOperand q_at = strided_operand(q, 0), k_at = strided_operand(k, 1),
                       v_at = strided_operand(v, 2), g_at = strided_operand(g, 3),
                       beta_at = strided_operand(beta, 4), old = strided_operand(state, 5);
  const DeltaRuleParams params{.batch = sequence_params(signature, 6, sequences),
                               .heads = heads,
                               .dk = dk,
                               .dv = dv,
                               .k_heads = tiled ? q.shape[1] : heads / q.shape[1],
                               .tiled = tiled ? 1 : 0,
                               .q_base = q_at.base,
                               .q_row = q.strides[0],
                               .q_head = q.strides[1],
                               .q_step = q.strides[2],
                               .k_base = k_at.base,
                               .k_row = k.strides[0],
                               .k_head = k.strides[1],
                               .k_step = k.strides[2],
                               .v_base = v_at.base,
                               .v_row = v.strides[0],
                               .v_head = v.strides[1],
                               .v_step = v.strides[2],
                               .g_base = g_at.base,
                               .g_row = g.strides[0],
                               .g_head = g.strides[1],
                               .beta_base = beta_at.base,
                               .beta_row = beta.strides[0],
                               .beta_head = beta.strides[1],
                               .state_base = old.base,
                               .state_sequence = state.strides[0],
                               .state_head = state.strides[1],
                               .state_row = state.strides[2],
                               .state_step = state.strides[3]};
  const std::int64_t own = own_elements(kDeltaOwn, dk, kDeltaSimdgroups);
  const std::int64_t simdgroups = std::max<std::int64_t>(ceil_div(dk, own), 1);
  const std::int64_t threads = simdgroups * kSimdWidth;
  const char* const type = dialect_type(q.dtype);
  plan->add_step(KernelCall("recurrent/delta_rule.metal", "delta_rule",
                            {dtype_struct(q.dtype), dtype_struct(g.dtype),
                             dtype_struct(state.dtype), std::to_string(own)})
                     .read(type, "q", q_at.argument)
                     .read(type, "k", k_at.argument)
                     .read(type, "v", v_at.argument)
                     .read(dialect_type(g.dtype), "g", g_at.argument)
                     .read(dialect_type(g.dtype), "beta", beta_at.argument)
                     .read(dialect_type(state.dtype), "state", old.argument)
                     .read("int", "starts", input_argument(signature, 6))
                     .write(type, "y", output_argument(signature))
                     .write(dialect_type(state.dtype), "next", output_argument(signature, 1))
                     .constants(params)
                     .threadgroup(sum_type(q.dtype), "shared", 2 * 3 * threads)
                     .step(*plan, batch_groups(ceil_div(dv, kSimdWidth), heads, sequences),
                           {static_cast<std::uint32_t>(threads)}, kDeltaSimdgroups * kSimdWidth));
  return prepared_steps(std::move(plan));
}

bool scan_accepts(const Signature& signature) {
  const Shape& state = signature.inputs[5].shape;
  return fits_batch(signature, state[0], state[1]) &&
         own_elements(kScanOwn, state[3], kSimdWidth) > 0;
}

Prepared prepare_selective_scan(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec &x = signature.inputs[0], &dt = signature.inputs[1], &a = signature.inputs[2],
                   &b = signature.inputs[3], &c = signature.inputs[4], &state = signature.inputs[5];
  const std::int64_t sequences = state.shape[0], heads = state.shape[1], p = state.shape[2],
                     n = state.shape[3];
  if (heads * p == 0) return prepared_steps(std::move(plan));
  const bool has_skip = is_given(signature, 7);
  const StridedOperand x_at = strided_operand(x, 0), dt_at = strided_operand(dt, 1),
                       a_at = strided_operand(a, 2), b_at = strided_operand(b, 3),
                       c_at = strided_operand(c, 4), old = strided_operand(state, 5);
  const StridedOperand d_at = has_skip ? strided_operand(signature.inputs[7], 7) : a_at;
  const SelectiveScanParams params{.batch = sequence_params(signature, 6, sequences),
                                   .heads = heads,
                                   .p = p,
                                   .n = n,
                                   .group_heads = heads / b.shape[1],
                                   .x_base = x_at.base,
                                   .x_row = x.strides[0],
                                   .x_head = x.strides[1],
                                   .x_step = x.strides[2],
                                   .dt_base = dt_at.base,
                                   .dt_row = dt.strides[0],
                                   .dt_head = dt.strides[1],
                                   .a_base = a_at.base,
                                   .a_head = a.strides[0],
                                   .b_base = b_at.base,
                                   .b_row = b.strides[0],
                                   .b_group = b.strides[1],
                                   .b_step = b.strides[2],
                                   .c_base = c_at.base,
                                   .c_row = c.strides[0],
                                   .c_group = c.strides[1],
                                   .c_step = c.strides[2],
                                   .d_base = d_at.base,
                                   .d_head = has_skip ? signature.inputs[7].strides[0] : 0,
                                   .state_base = old.base,
                                   .state_sequence = state.strides[0],
                                   .state_head = state.strides[1],
                                   .state_row = state.strides[2],
                                   .state_step = state.strides[3]};
  constexpr std::int64_t kScanThreads = kScanSimdgroups * kSimdWidth;
  const char* const type = dialect_type(x.dtype);
  plan->add_step(
      KernelCall("recurrent/selective_scan.metal", "selective_scan",
                 {dtype_struct(x.dtype), dtype_struct(dt.dtype), dtype_struct(state.dtype),
                  truth(has_skip), std::to_string(own_elements(kScanOwn, n, kSimdWidth))})
          .read(type, "x", x_at.argument)
          .read(dialect_type(dt.dtype), "dt", dt_at.argument)
          .read(dialect_type(dt.dtype), "a", a_at.argument)
          .read(type, "b", b_at.argument)
          .read(type, "c", c_at.argument)
          .read(dialect_type(dt.dtype), "d", d_at.argument)
          .read(dialect_type(state.dtype), "state", old.argument)
          .read("int", "starts", input_argument(signature, 6))
          .write(type, "y", output_argument(signature))
          .write(dialect_type(state.dtype), "next", output_argument(signature, 1))
          .constants(params)
          .step(*plan, batch_groups(ceil_div(p, kScanSimdgroups), heads, sequences), {kScanThreads},
                kScanThreads));
  return prepared_steps(std::move(plan));
}

constexpr Implementation kRecurrentFamily[] = {
    {.name = "channels",
     .op = &defs::causal_conv_op,
     .accepts = conv_accepts,
     .prepare = prepare_causal_conv,
     .launch = launch_steps},
    {.name = "rows",
     .op = &defs::gated_delta_rule_op,
     .accepts = delta_accepts,
     .prepare = prepare_delta_rule,
     .launch = launch_steps},
    {.name = "rows",
     .op = &defs::selective_scan_op,
     .accepts = scan_accepts,
     .prepare = prepare_selective_scan,
     .launch = launch_steps},
};

}  // namespace

Family recurrent_family() { return kRecurrentFamily; }

}  // namespace hearth::gpu
