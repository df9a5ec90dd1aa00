// selective_scan: the state space of Mamba 2 over ragged batches.
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

// The optional d comes last.
enum ScanInput : int { kScanX, kScanDt, kScanA, kScanB, kScanC, kScanState, kScanStarts, kScanD };

void infer_selective_scan(Inference& inference) {
  const DType dtype = infer_rows_dtype(inference);
  require_axes(inference, kScanX, "x", 3, "[rows, heads, p]");
  const Shape& x = inference.input(kScanX).shape();
  require_shape(inference, kScanDt, "dt", {x[0], x[1]});
  require_shape(inference, kScanA, "a", {x[1]});
  require_axes(inference, kScanB, "b", 3, "[rows, groups, n]");
  const Shape& b = inference.input(kScanB).shape();
  require_shape(inference, kScanC, "c", b);
  if (b[0] != x[0] || b[1] < 1 || x[1] % b[1] != 0) {
    inference.fail(ErrorCode::shape, "b does not fit x " + to_string(x) + "; got shape " +
                                         to_string(b) +
                                         ", expected its rows, and groups that divide its heads");
  }
  require_axes(inference, kScanState, "state", 4, "[sequences, heads, p, n]");
  const Shape& state = inference.input(kScanState).shape();
  require_shape(inference, kScanState, "state", {state[0], x[1], x[2], b[2]});
  require_starts(inference, kScanStarts, state[0]);
  if (inference.has(kScanD)) require_shape(inference, kScanD, "d", {x[1]});
  for (const int i : {kScanB, kScanC}) {
    if (inference.input(i).dtype() == dtype) continue;
    inference.fail(ErrorCode::dtype, "x, b and c differ in dtype; got " +
                                         std::string(name(inference.input(i).dtype())) +
                                         " beside " + std::string(name(dtype)) +
                                         ", expected one dtype");
  }
  require_beside(inference, {kScanDt, kScanA, kScanD}, "dt, a or d", dtype);
  require_beside(inference, {kScanState}, "state", dtype);
  inference.shape = x;
  inference.more_outputs[0] = {state, inference.input(kScanState).dtype()};
}

// In blocks of rows (Dao, Gu 2024, the SSD form): of a block, products of C, B and the decays
// between its rows with x, and products of C with the states before it. Heads of a group lie below
// one another.
std::vector<Array> selective_scan_composite(const Composite& c) {
  const Array& old = c.input(kScanState);
  const Shape& x_shape = c.input(kScanX).shape();
  const std::int64_t rows = x_shape[0], heads = x_shape[1], p = x_shape[2];
  const std::int64_t groups = c.input(kScanB).shape()[1], n = old.shape()[3];
  const DType rows_dtype = c.input(kScanX).dtype(), dtype = compute_dtype(rows_dtype);
  const RaggedBatch batch(c.input(kScanStarts), rows);
  const std::int64_t sequences = batch.sequences;
  if (element_count(x_shape) == 0 || sequences == 0) {
    return {zeros(x_shape, rows_dtype, c.device), contiguous(old)};
  }
  const std::int64_t each = heads / groups;
  const Array all_x = without_padding(wide(c.input(kScanX)), batch);
  const Array all_dt = without_padding(cast(c.input(kScanDt), dtype), batch);
  const Array all_b = without_padding(wide(c.input(kScanB)), batch);
  const Array all_c = without_padding(wide(c.input(kScanC)), batch);
  const Array a = reshape(cast(c.input(kScanA), dtype), {heads, 1});
  // The states of all sequences below one another, each [n, p]: [groups, each, sequences * n, p].
  const Shape below = {groups, each, sequences * n, p};
  Array state = reshape(permute(cast(old, dtype), {1, 0, 3, 2}), below);
  std::vector<Array> results;
  for (std::int64_t first = 0; first < rows; first += RowBlock::kRows) {
    const RowBlock block(batch, first, dtype);
    const std::int64_t count = block.count;
    const Array dt = block_of(all_dt, block), logs = mul(dt, a);
    const Array weighted = mul(block_of(all_x, block), reshape(dt, {heads, count, 1}));
    const Array b = block_of(all_b, block), outward = block_of(all_c, block);
    const auto in_groups = [&](const Array& array, std::int64_t height, std::int64_t columns) {
      return reshape(array, {groups, each, height, columns});
    };
    const Array met = reshape(matmul(outward, permute(b, {0, 2, 1})), {groups, 1, count, count});
    const Array own = matmul(mul(met, in_groups(block.decay_between(logs), count, count)),
                             in_groups(weighted, count, p));
    const Array reading = reshape(block.by_sequence(outward), {groups, 1, count, sequences * n});
    const Array carried =
        mul(matmul(reading, state), in_groups(block.decay_from_start(logs), count, 1));
    results.push_back(permute(reshape(add(own, carried), {heads, count, p}), {1, 0, 2}));
    const Array writing =
        reshape(permute(block.by_sequence(b), {0, 2, 1}), {groups, 1, sequences * n, count});
    const Array written =
        mul(in_groups(weighted, count, p), in_groups(block.decay_to_end(logs), count, 1));
    const Array kept = mul(reshape(state, {heads, sequences, n, p}),
                           reshape(block.decay_of_sequences(logs), {heads, sequences, 1, 1}));
    state = add(reshape(kept, below), matmul(writing, written));
  }
  Array y = cat(results, 0);
  if (c.has(kScanD)) {
    y = add(y, mul(all_x, reshape(cast(c.input(kScanD), dtype), {heads, 1})));
  }
  const Array kept = permute(reshape(state, {heads, sequences, n, p}), {1, 0, 3, 2});
  return {cast(without_padding(y, batch), rows_dtype), cast(kept, old.dtype())};
}

std::vector<SampleCase> selective_scan_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&](std::int64_t rows, std::int64_t groups, std::int64_t heads, std::int64_t p,
                       std::int64_t n, std::int64_t sequences, bool has_d) -> SampleCase& {
    SampleCase& sample = samples.emplace_back();
    sample.inputs = {
        {{rows, heads, p}},
        {.shape = {rows, heads}, .lo = 0, .hi = 1.5},
        {.shape = {heads}, .lo = -2, .hi = -0.1},
        {.shape = {rows, groups, n}, .lo = -1, .hi = 1},
        {.shape = {rows, groups, n}, .lo = -1, .hi = 1},
        {{sequences, heads, p, n}},
        {.shape = {sequences + 1}, .lo = -1, .hi = static_cast<double>(rows + 1), .dtype = kI32}};
    if (has_d) sample.inputs.push_back({{heads}});
    return sample;
  };
  add(7, 1, 2, 3, 4, 2, false);
  add(9, 2, 4, 2, 3, 3, true);
  add(70, 1, 1, 2, 3, 2, true);
  add(3, 1, 1, 2, 33, 2, false);
  add(0, 1, 2, 3, 2, 2, true);
  add(4, 1, 2, 0, 2, 2, false);
  add(4, 1, 2, 3, 0, 2, true);
  add(4, 1, 2, 3, 2, 0, true);
  add(4, 2, 3, 3, 2, 2, false).error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kScanC].shape = {4, 2, 2};
  samples.back().error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kScanDt].shape = {4, 3};
  samples.back().error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kScanState].shape = {2, 2, 2, 3};
  samples.back().error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kScanStarts].shape = {4};
  samples.back().error = kShapeError;
  add(4, 1, 2, 3, 2, 2, false).inputs[kScanB].dtype = kI32;
  samples.back().error = kDTypeError;
  return samples;
}

}  // namespace
}  // namespace recurrent

constinit const OpDef defs::selective_scan_op = {
    .name = "selective_scan",
    .summary =
        "S = e^(dt a) S + dt x b^T, y = S c + d x over the rows of each sequence of a ragged "
        "batch.",
    .shapes =
        "x [rows, heads, p], dt [rows, heads], a [heads], b [rows, groups, n], c [rows, groups, "
        "n], state [sequences, heads, p, n], starts [sequences + 1], d [heads] -> [rows, heads, p] "
        "and state [sequences, heads, p, n]",
    .method = "",
    .min_inputs = 7,
    .max_inputs = 8,
    .outputs = 2,
    .infer = recurrent::infer_selective_scan,
    .composite_outputs = recurrent::selective_scan_composite,
    .accepts_dtype = is_float,
    .samples = recurrent::selective_scan_samples,
};

inline namespace v0 {

std::pair<Array, Array> selective_scan(const Array& x, const Array& dt, const Array& a,
                                       const Array& b, const Array& c, const Array& state,
                                       const Array& starts, const Array& d) {
  std::vector<Array> both = call_outputs(defs::selective_scan_op, kNoParams,
                                         {&x, &dt, &a, &b, &c, &state, &starts, optional_input(d)});
  return {std::move(both[0]), std::move(both[1])};
}

}  // namespace v0
}  // namespace hearth
