// causal_conv: a short depthwise convolution over the rows of each sequence of a ragged batch.
#include <utility>
#include <vector>

#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/recurrent/ragged_batch.h"

namespace hearth {
namespace recurrent {
namespace {

// The optional bias comes last.
enum ConvInput : int { kConvX, kConvWeight, kConvState, kConvStarts, kConvBias };

void infer_causal_conv(Inference& inference) {
  const DType dtype = infer_rows_dtype(inference);
  require_axes(inference, kConvX, "x", 2, "[rows, channels]");
  require_axes(inference, kConvWeight, "weight", 2, "[channels, kernel]");
  require_axes(inference, kConvState, "state", 3, "[sequences, kernel - 1, channels]");
  const Shape& x = inference.input(kConvX).shape();
  const Shape& weight = inference.input(kConvWeight).shape();
  const std::int64_t sequences = inference.input(kConvState).shape()[0];
  if (weight[0] != x[1] || weight[1] < 1) {
    inference.fail(ErrorCode::shape, "weight does not fit x " + to_string(x) + "; got shape " +
                                         to_string(weight) +
                                         ", expected [channels, kernel] with a kernel of 1 or "
                                         "more");
  }
  require_shape(inference, kConvState, "state", {sequences, weight[1] - 1, x[1]});
  require_starts(inference, kConvStarts, sequences);
  if (inference.has(kConvBias)) require_shape(inference, kConvBias, "bias", {x[1]});
  require_beside(inference, {kConvWeight, kConvBias}, "weight or bias", dtype);
  require_beside(inference, {kConvState}, "state", dtype);
  inference.shape = x;
  inference.more_outputs[0] = {inference.input(kConvState).shape(),
                               inference.input(kConvState).dtype()};
}

// All rows there are, x's, then those of states, then one of zeros: each tap is a choice of them.
std::vector<Array> causal_conv_composite(const Composite& c) {
  const Array x = wide(c.input(kConvX)), weight = cast(c.input(kConvWeight), x.dtype());
  const Array& old = c.input(kConvState);
  const RaggedBatch batch(c.input(kConvStarts), x.shape()[0]);
  const std::int64_t rows = batch.rows, sequences = batch.sequences, channels = x.shape()[1];
  const std::int64_t kernel = weight.shape()[1], held = kernel - 1;
  const Array table = cat({x, reshape(cast(old, x.dtype()), {sequences * held, channels}),
                           zeros({1, channels}, x.dtype(), c.device)},
                          0);
  const std::int64_t nothing = rows + sequences * held;
  // Where in the table row `row` of the sequence is that has its first row at `begin` and its state
  // from `state` on.
  const auto place_of = [&](const Array& row, const Array& begin, const Array& state) {
    return where(greater_equal(row, begin), row, add(add(state, held), sub(row, begin)));
  };
  const Array states = add(mul(arange(0, sequences, 1, DType::i64, c.device), held), rows);
  const Array zero_row = full({1}, 0, DType::i64, c.device);
  const auto of_row = [&](const Array& per_sequence) {
    if (sequences == 0) return expand(zero_row, {rows});
    return sum(where(batch.members, per_sequence, 0), {1});
  };
  const Array begin = of_row(batch.begins), state = of_row(states);
  Array y = zeros({rows, channels}, x.dtype(), c.device);
  for (std::int64_t k = 0; k < kernel; ++k) {
    const Array place = place_of(sub(batch.places, held - k), begin, state);
    const Array taken = select(table, where(batch.valid, place, nothing), 0);
    y = add(y, mul(taken, reshape(narrow(weight, 1, k, 1), {channels})));
  }
  if (c.has(kConvBias)) {
    y = without_padding(add(y, cast(c.input(kConvBias), x.dtype())), batch);
  }
  if (sequences * held == 0) return {cast(y, c.input(kConvX).dtype()), contiguous(old)};
  const Array back = arange(-held, 0, 1, DType::i64, c.device);
  const auto column = [&](const Array& a) { return reshape(a, {sequences, 1}); };
  const Array last = place_of(add(column(batch.ends), back), column(batch.begins), column(states));
  const Array kept = reshape(select(table, flat(last), 0), {sequences, held, channels});
  return {cast(y, c.input(kConvX).dtype()), cast(kept, old.dtype())};
}

std::vector<SampleCase> causal_conv_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&](std::int64_t rows, std::int64_t channels, std::int64_t kernel,
                       std::int64_t sequences, bool has_bias) -> SampleCase& {
    SampleCase& sample = samples.emplace_back();
    sample.inputs = {
        {{rows, channels}},
        {{channels, kernel}},
        {{sequences, kernel - 1, channels}},
        {.shape = {sequences + 1}, .lo = -1, .hi = static_cast<double>(rows + 1), .dtype = kI32}};
    if (has_bias) sample.inputs.push_back({{channels}});
    return sample;
  };
  add(7, 3, 4, 2, false);
  add(9, 5, 4, 3, true);
  add(6, 2, 1, 2, true);
  add(3, 33, 3, 4, false);
  add(0, 3, 4, 2, true);
  add(4, 0, 4, 2, false);
  add(4, 3, 4, 0, true);
  add(4, 3, 4, 2, false).inputs[kConvWeight].shape = {2, 4};
  samples.back().error = kShapeError;
  add(4, 3, 4, 2, false).inputs[kConvState].shape = {2, 4, 3};
  samples.back().error = kShapeError;
  add(4, 3, 4, 2, false).inputs[kConvStarts].shape = {2};
  samples.back().error = kShapeError;
  add(4, 3, 4, 2, false).inputs[kConvStarts].dtype = kI64;
  samples.back().error = kDTypeError;
  add(4, 3, 4, 2, true).inputs[kConvBias].shape = {4};
  samples.back().error = kShapeError;
  return samples;
}

}  // namespace
}  // namespace recurrent

constinit const OpDef defs::causal_conv_op = {
    .name = "causal_conv",
    .summary =
        "A depthwise convolution over the rows of each sequence of a ragged batch, which sees "
        "earlier rows only.",
    .shapes =
        "x [rows, channels], weight [channels, kernel], state [sequences, kernel - 1, channels], "
        "starts [sequences + 1], bias [channels] -> [rows, channels] and state [sequences, kernel "
        "- 1, channels]",
    .method = "",
    .min_inputs = 4,
    .max_inputs = 5,
    .outputs = 2,
    .infer = recurrent::infer_causal_conv,
    .composite_outputs = recurrent::causal_conv_composite,
    .accepts_dtype = is_float,
    .samples = recurrent::causal_conv_samples,
};

inline namespace v0 {

std::pair<Array, Array> causal_conv(const Array& x, const Array& weight, const Array& state,
                                    const Array& starts, const Array& bias) {
  std::vector<Array> both = call_outputs(defs::causal_conv_op, kNoParams,
                                         {&x, &weight, &state, &starts, optional_input(bias)});
  return {std::move(both[0]), std::move(both[1])};
}

}  // namespace v0
}  // namespace hearth
