// gated_delta_rule: a linear memory of keys and values with decay, over ragged batches.
#include <string>
#include <utility>
#include <vector>

#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/recurrent/ragged_batch.h"

namespace hearth {
namespace recurrent {
namespace {

enum DeltaInput : int { kDeltaQ, kDeltaK, kDeltaV, kDeltaG, kDeltaBeta, kDeltaState, kDeltaStarts };

constexpr ParamSpec kDeltaParams[] = {
    {.name = "tiled", .type = ParamType::boolean, .optional = true}};

void infer_delta_rule(Inference& inference) {
  const DType dtype = infer_rows_dtype(inference);
  require_axes(inference, kDeltaQ, "q", 3, "[rows, k_heads, dk]");
  const Shape& q = inference.input(kDeltaQ).shape();
  require_shape(inference, kDeltaK, "k", q);
  require_axes(inference, kDeltaV, "v", 3, "[rows, v_heads, dv]");
  const Shape& v = inference.input(kDeltaV).shape();
  if (v[0] != q[0]) {
    inference.fail(ErrorCode::shape, "v has other rows than q; got shapes " + to_string(v) +
                                         " and " + to_string(q) + ", expected one batch");
  }
  if (q[1] < 1 || v[1] % q[1] != 0) {
    inference.fail(ErrorCode::shape, "heads do not fit; got " + std::to_string(v[1]) +
                                         " of v and " + std::to_string(q[1]) +
                                         " of k, expected a multiple");
  }
  require_shape(inference, kDeltaG, "g", {v[0], v[1]});
  require_shape(inference, kDeltaBeta, "beta", {v[0], v[1]});
  require_axes(inference, kDeltaState, "state", 4, "[sequences, v_heads, dk, dv]");
  const Shape& state = inference.input(kDeltaState).shape();
  require_shape(inference, kDeltaState, "state", {state[0], v[1], q[2], v[2]});
  require_starts(inference, kDeltaStarts, state[0]);
  for (const int i : {kDeltaK, kDeltaV}) {
    if (inference.input(i).dtype() == dtype) continue;
    inference.fail(ErrorCode::dtype, "q, k and v differ in dtype; got " +
                                         std::string(name(inference.input(i).dtype())) +
                                         " beside " + std::string(name(dtype)) +
                                         ", expected one dtype");
  }
  require_beside(inference, {kDeltaG, kDeltaBeta}, "g or beta", dtype);
  require_beside(inference, {kDeltaState}, "state", dtype);
  inference.shape = v;
  inference.more_outputs[0] = {state, inference.input(kDeltaState).dtype()};
}

// x [rows, k_heads, dk] for each head of v, in the dtype that is computed in.
Array of_v_heads(const Array& x, std::int64_t v_heads, bool tiled) {
  const Shape& shape = x.shape();
  const std::int64_t each = v_heads / shape[1];
  const Array apart = reshape(wide(x), tiled ? Shape{shape[0], 1, shape[1], shape[2]}
                                             : Shape{shape[0], shape[1], 1, shape[2]});
  return reshape(expand(apart, tiled ? Shape{shape[0], each, shape[1], shape[2]}
                                     : Shape{shape[0], shape[1], each, shape[2]}),
                 {shape[0], v_heads, shape[2]});
}

// In blocks of rows (Yang et al. 2024, the WY form): what the rows of a block add to the states,
// delta [rows, dv], is the solution of a triangular system,
//   delta_t + beta_t sum over u < t of decay(u, t) (k_t . k_u) delta_u
//       = beta_t (v_t - decay(0, t) S^T k_t),
// where S is the state before the block of the sequence of row t. Decays between rows of different
// sequences are 0.
std::vector<Array> delta_rule_composite(const Composite& c) {
  const Array& old = c.input(kDeltaState);
  const Shape& v_shape = c.input(kDeltaV).shape();
  const std::int64_t rows = v_shape[0], heads = v_shape[1], dv = v_shape[2];
  const std::int64_t dk = old.shape()[2];
  const DType rows_dtype = c.input(kDeltaQ).dtype(), dtype = compute_dtype(rows_dtype);
  const RaggedBatch batch(c.input(kDeltaStarts), rows);
  const std::int64_t sequences = batch.sequences;
  if (element_count(v_shape) == 0 || sequences == 0) {
    return {zeros(v_shape, rows_dtype, c.device), contiguous(old)};
  }
  const bool tiled = c.statics().boolean();
  const Array all_q = without_padding(of_v_heads(c.input(kDeltaQ), heads, tiled), batch);
  const Array all_k = without_padding(of_v_heads(c.input(kDeltaK), heads, tiled), batch);
  const Array all_v = without_padding(wide(c.input(kDeltaV)), batch);
  const Array all_g = without_padding(cast(c.input(kDeltaG), dtype), batch);
  const Array all_beta = without_padding(cast(c.input(kDeltaBeta), dtype), batch);
  // The states of all sequences below one another: [heads, sequences * dk, dv].
  const Shape below = {heads, sequences * dk, dv};
  Array state = reshape(permute(cast(old, dtype), {1, 0, 2, 3}), below);
  std::vector<Array> results;
  for (std::int64_t first = 0; first < rows; first += RowBlock::kRows) {
    const RowBlock block(batch, first, dtype);
    const Shape column = {heads, block.count, 1};
    const Array q = block_of(all_q, block), k = block_of(all_k, block);
    const Array v = block_of(all_v, block), g = block_of(all_g, block);
    const Array beta = reshape(block_of(all_beta, block), column);
    const Array decay = block.decay_between(g);
    const Array from_start = reshape(block.decay_from_start(g), column);
    const auto read = [&](const Array& key) {
      return mul(matmul(block.by_sequence(key), state), from_start);
    };
    const Array transposed = permute(k, {0, 2, 1});
    const Array system = mul(mul(matmul(k, transposed), decay), beta);
    const Array delta =
        triangular_solve(system, mul(sub(v, read(k)), beta), false, /*unit_diagonal=*/true);
    const Array y = add(read(q), matmul(mul(matmul(q, transposed), decay), delta));
    results.push_back(permute(y, {1, 0, 2}));
    const Array written = block.by_sequence(mul(k, reshape(block.decay_to_end(g), column)));
    const Array kept = mul(reshape(state, {heads, sequences, dk, dv}),
                           reshape(block.decay_of_sequences(g), {heads, sequences, 1, 1}));
    state = add(reshape(kept, below), matmul(permute(written, {0, 2, 1}), delta));
  }
  const Array y = without_padding(cat(results, 0), batch);
  const Array kept = permute(reshape(state, {heads, sequences, dk, dv}), {1, 0, 2, 3});
  return {cast(y, rows_dtype), cast(kept, old.dtype())};
}

std::vector<SampleCase> delta_rule_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&](std::int64_t rows, std::int64_t k_heads, std::int64_t v_heads,
                       std::int64_t dk, std::int64_t dv, std::int64_t sequences,
                       bool tiled) -> SampleCase& {
    SampleCase& sample = samples.emplace_back();
    const SampleInput key = {.shape = {rows, k_heads, dk}, .lo = -0.7, .hi = 0.7};
    sample.inputs = {
        key,
        key,
        {{rows, v_heads, dv}},
        {.shape = {rows, v_heads}, .lo = -2, .hi = 0},
        {.shape = {rows, v_heads}, .lo = 0, .hi = 1},
        {{sequences, v_heads, dk, dv}},
        {.shape = {sequences + 1}, .lo = -1, .hi = static_cast<double>(rows + 1), .dtype = kI32}};
    sample.params.boolean(tiled);
    return sample;
  };
  add(7, 1, 2, 3, 4, 2, false);
  add(6, 2, 4, 4, 3, 3, true);
  add(9, 2, 4, 2, 5, 2, false);
  add(70, 1, 1, 3, 2, 2, false);
  add(3, 1, 1, 33, 2, 2, false);
  add(0, 1, 2, 3, 2, 2, false);
  add(4, 1, 2, 3, 0, 2, false);
  add(4, 1, 2, 0, 3, 2, false);
  add(4, 1, 2, 3, 2, 0, false);
  add(4, 2, 3, 3, 2, 2, false).error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kDeltaK].shape = {4, 1, 2};
  samples.back().error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kDeltaG].shape = {4, 1};
  samples.back().error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kDeltaState].shape = {2, 2, 2, 3};
  samples.back().error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kDeltaStarts].shape = {4};
  samples.back().error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kDeltaV].dtype = kI32;
  samples.back().error = kDTypeError;
  return samples;
}

}  // namespace
}  // namespace recurrent

constinit const OpDef defs::gated_delta_rule_op = {
    .name = "gated_delta_rule",
    .summary =
        "S = e^g S, S += k (beta (v - S^T k))^T, y = S^T q over the rows of each sequence of a "
        "ragged batch.",
    .shapes =
        "q [rows, k_heads, dk], k [rows, k_heads, dk], v [rows, v_heads, dv], g [rows, v_heads], "
        "beta [rows, v_heads], state [sequences, v_heads, dk, dv], starts [sequences + 1] -> "
        "[rows, v_heads, dv] and state [sequences, v_heads, dk, dv]",
    .method = "",
    .params = recurrent::kDeltaParams,
    .min_inputs = 7,
    .max_inputs = 7,
    .outputs = 2,
    .infer = recurrent::infer_delta_rule,
    .composite_outputs = recurrent::delta_rule_composite,
    .accepts_dtype = is_float,
    .samples = recurrent::delta_rule_samples,
};

inline namespace v0 {

std::pair<Array, Array> gated_delta_rule(const Array& q, const Array& k, const Array& v,
                                         const Array& g, const Array& beta, const Array& state,
                                         const Array& starts, const GatedDeltaOptions& options) {
  std::vector<Array> both = call_outputs(defs::gated_delta_rule_op, Params().boolean(options.tiled),
                                         {&q, &k, &v, &g, &beta, &state, &starts});
  return {std::move(both[0]), std::move(both[1])};
}

}  // namespace v0
}  // namespace hearth
