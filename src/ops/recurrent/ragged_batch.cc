#include "ops/recurrent/ragged_batch.h"

#include <algorithm>

#include "ops/definition/call.h"
#include "ops/definition/rules.h"

namespace hearth::recurrent {

void require_shape(const Inference& inference, int i, const char* what, const Shape& shape) {
  require_input(inference, i);
  if (inference.input(i).shape() == shape) return;
  inference.fail(ErrorCode::shape, std::string(what) + " does not fit; got shape " +
                                       to_string(inference.input(i).shape()) + ", expected " +
                                       to_string(shape));
}

void require_axes(const Inference& inference, int i, const char* what, int rank, const char* axes) {
  require_input(inference, i);
  if (inference.input(i).rank() == rank) return;
  inference.fail(ErrorCode::shape, std::string(what) + " has the wrong rank; got shape " +
                                       to_string(inference.input(i).shape()) + ", expected " +
                                       axes);
}

void require_beside(const Inference& inference, std::initializer_list<int> inputs, const char* what,
                    DType dtype) {
  const Array* first = nullptr;
  for (const int i : inputs) {
    if (!inference.has(i)) continue;
    const Array& input = inference.input(i);
    if (first == nullptr) first = &input;
    if (input.dtype() == first->dtype() &&
        (input.dtype() == dtype || input.dtype() == compute_dtype(dtype))) {
      continue;
    }
    inference.fail(ErrorCode::dtype, std::string(what) + " has the wrong dtype; got " +
                                         std::string(name(input.dtype())) + " beside " +
                                         std::string(name(dtype)) + ", expected " +
                                         std::string(name(compute_dtype(dtype))));
  }
}

DType infer_rows_dtype(Inference& inference) {
  require_input(inference, 0);
  require_accepted(inference, inference.input(0).dtype());
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
  return inference.dtype;
}

void require_starts(const Inference& inference, int i, std::int64_t sequences) {
  require_shape(inference, i, "starts", {sequences + 1});
  const DType dtype = inference.input(i).dtype();
  if (dtype == DType::i32) return;
  inference.fail(ErrorCode::dtype,
                 "starts have the wrong dtype; got " + std::string(name(dtype)) + ", expected i32");
}

RaggedBatch::RaggedBatch(const Array& starts, std::int64_t row_count)
    : rows(row_count), sequences(starts.size() - 1) {
  const Array bounds = cummax(clamp(cast(starts, DType::i64), 0, rows), 0);
  begins = narrow(bounds, 0, 0, sequences);
  ends = narrow(bounds, 0, 1, sequences);
  places = arange(0, rows, 1, DType::i64, starts.device());
  const Array row = reshape(places, {rows, 1});
  members = logical_and(less_equal(begins, row), less(row, ends));
  valid = sequences == 0 ? full({rows}, false, DType::bool_, starts.device()) : any(members, {1});
}

Array without_padding(const Array& x, const RaggedBatch& batch) {
  Shape shape = Shape::filled(x.rank(), 1);
  shape[0] = batch.rows;
  return where(reshape(batch.valid, shape), x, 0.0);
}

RowBlock::RowBlock(const RaggedBatch& batch, std::int64_t first_row, DType dtype)
    : first(first_row), count(std::min(kRows, batch.rows - first_row)) {
  members = cast(narrow(batch.members, 0, first, count), dtype);
  const Array same = greater(matmul(members, transpose(members)), 0.5);
  const Array place = narrow(batch.places, 0, first, count);
  const Array row = reshape(place, {count, 1});
  before = logical_and(same, less(place, row));
  up_to = logical_and(same, less_equal(place, row));
  after_ = logical_and(same, greater(place, row));
}

// Sums of the logarithms in between, without differences of longer ones: these would lose a decay
// behind a much stronger one, and have no value where a logarithm is infinite.
Array RowBlock::decay_between(const Array& logs) const {
  const std::int64_t heads = logs.shape()[0];
  const Array parts = where(before, reshape(logs, {heads, count, 1}), 0.0);
  return where(up_to, exp(cumsum(parts, 1)), 0.0);
}

namespace {

// The sums of logs [heads, count] over the columns of mask [n, count]: [heads, n].
Array sum_where(const Array& mask, const Array& logs) {
  const std::int64_t heads = logs.shape()[0], count = logs.shape()[1];
  return sum(where(mask, reshape(logs, {heads, 1, count}), 0.0), {2});
}

}  // namespace

Array RowBlock::decay_from_start(const Array& logs) const { return exp(sum_where(up_to, logs)); }

Array RowBlock::decay_to_end(const Array& logs) const { return exp(sum_where(after_, logs)); }

Array RowBlock::decay_of_sequences(const Array& logs) const {
  return exp(sum_where(greater(transpose(members), 0.5), logs));
}

Array RowBlock::by_sequence(const Array& x) const {
  const std::int64_t sequences = members.shape()[1];
  Shape apart = x.shape(), together = x.shape();
  const int last = x.rank() - 1;
  const std::int64_t columns = x.shape()[last];
  apart[last] = 1;
  apart.push_back(columns);
  together[last] = sequences * columns;
  return reshape(mul(reshape(x, apart), reshape(members, {count, sequences, 1})), together);
}

Array block_of(const Array& x, const RowBlock& block) {
  Dims axes = {1, 0};
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  return permute(narrow(x, 0, block.first, block.count), axes);
}

}  // namespace hearth::recurrent
