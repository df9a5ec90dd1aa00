// The diagonal of matrices as a view, what puts one back, and sums of it.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr ParamSpec kDiagonalParams[] = {
    {.name = "offset", .type = ParamType::i64},
    {.name = "first", .type = ParamType::i64, .range = "[0, rank)"},
    {.name = "second", .type = ParamType::i64, .range = "[0, rank)"}};

// Where the diagonal of a matrix starts, and how long it is.
struct DiagonalPart {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t length = 0;
};

DiagonalPart diagonal_part(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  // One beyond the matrix is as empty as one far away, and overflows nothing.
  offset = std::clamp(offset, -rows, columns);
  DiagonalPart part;
  part.row = std::max<std::int64_t>(-offset, 0);
  part.column = std::max<std::int64_t>(offset, 0);
  part.length = std::min(rows - part.row, columns - part.column);
  return part;
}

void infer_diagonal(Inference& inference) {
  require_input(inference, 0);
  const Node& x = *node_of(inference.input(0));
  inference.dtype = inference.scalar_dtype = x.dtype;
  ParamReader statics(inference.params.statics().span());
  const std::int64_t offset = statics.i64();
  const int first = require_axis(inference, statics.i64(), x.shape.rank());
  const int second = require_axis(inference, statics.i64(), x.shape.rank());
  if (first == second) {
    inference.fail(ErrorCode::invalid_argument, "one axis makes no matrix; got axis " +
                                                    std::to_string(first) +
                                                    " twice, expected two axes");
  }
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (i != first && i != second) inference.shape.push_back(x.shape[i]);
  }
  inference.shape.push_back(diagonal_part(x.shape[first], x.shape[second], offset).length);
}

bool view_diagonal(std::span<const std::uint64_t> statics, const Shape& in_shape, const Layout& in,
                   const Shape& out_shape, Layout* out) {
  ParamReader reader(statics);
  const std::int64_t offset = reader.i64();
  const auto first = static_cast<int>(reader.i64());
  const auto second = static_cast<int>(reader.i64());
  const DiagonalPart part = diagonal_part(in_shape[first], in_shape[second], offset);
  out->offset = in.offset;
  if (element_count(out_shape) > 0) {
    out->offset += part.row * in.strides[first] + part.column * in.strides[second];
  }
  out->strides = Strides();
  for (int i = 0; i < in_shape.rank(); ++i) {
    if (i != first && i != second) out->strides.push_back(in.strides[i]);
  }
  out->strides.push_back(in.strides[first] + in.strides[second]);
  return true;
}

// x [..., length] on a diagonal of [..., rows, columns] of zeros: x beside each row, and a mask.
Array on_diagonal(const Array& x, std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  const DiagonalPart part = diagonal_part(rows, columns, offset);
  Dims before = Dims::filled(x.rank(), 0);
  Dims after = before;
  before[x.rank() - 1] = part.row;
  after[x.rank() - 1] = rows - part.row - part.length;
  const Array beside = unsqueeze(pad(x, before, after), {-1});
  Shape shape = x.shape();
  shape[x.rank() - 1] = rows;
  shape.push_back(columns);
  const Array off = diag_mask(rows, columns, part.column - part.row, x.device());
  return where(off, zeros({}, x.dtype(), x.device()), expand(beside, shape));
}

Grads diagonal_gradient(const Vjp& v) {
  ParamReader statics = v.statics();
  const std::int64_t offset = statics.i64();
  const std::int64_t first = statics.i64();
  const std::int64_t second = statics.i64();
  const Shape& shape = v.shape(0);
  const Array matrices =
      on_diagonal(v.grad, shape[static_cast<int>(first)], shape[static_cast<int>(second)], offset);
  return grads(movedim(matrices, {-2, -1}, {first, second}));
}

std::vector<SampleCase> diagonal_samples() {
  const auto make = [](const Shape& shape, std::int64_t offset, std::int64_t first,
                       std::int64_t second, int error = -1) {
    SampleCase sample;
    sample.inputs = {{.shape = shape}};
    sample.params.i64(offset).i64(first).i64(second);
    sample.error = error;
    return sample;
  };
  return {make({3, 4}, 0, 0, 1),
          make({3, 4}, 2, 0, 1),
          make({4, 3}, -1, 1, 0),
          make({2, 3, 4}, -2, 1, 2),
          make({4, 2, 3}, 1, 2, 0),
          make({3, 4}, 9, 0, 1),
          make({0, 4}, 0, 0, 1),
          make({1, 1}, 0, 0, 1),
          make({3, 4}, 0, 1, 1, kArgumentError),
          make({3}, 0, 0, 1, kArgumentError)};
}

}  // namespace

constinit const OpDef defs::diagonal_op = {
    .name = "diagonal",
    .summary = "A diagonal of the matrices that two axes make, as the last axis.",
    .shapes = "x [...] -> [... without both axes, length of the diagonal]",
    .method = "",
    .kind = OpKind::view,
    .params = kDiagonalParams,
    .infer = infer_diagonal,
    .vjp = diagonal_gradient,
    .view = view_diagonal,
    .samples = diagonal_samples,
};

inline namespace v0 {

Array diagonal(const Array& x, std::int64_t offset, std::int64_t first, std::int64_t second) try {
  const int rank = x.rank();
  if (rank < 2) {
    throw Error(ErrorCode::shape,
                "diagonal: no matrix; got " + to_string(x.shape()) + ", expected rank 2 or more");
  }
  const int a = normalize_axis("diagonal", first, rank);
  const int b = normalize_axis("diagonal", second, rank);
  return call(defs::diagonal_op, Params().i64(offset).i64(a).i64(b), {&x});
} catch (const Error& error) {
  throw_as("diagonal", error);
}

Array trace(const Array& x, std::int64_t offset, std::int64_t first, std::int64_t second) try {
  return sum(diagonal(x, offset, first, second), {-1});
} catch (const Error& error) {
  throw_as("trace", error);
}

Array diag_embed(const Array& x, std::int64_t offset) try {
  if (x.rank() == 0 || x.rank() == kMaxRank) {
    throw Error(ErrorCode::shape, "diag_embed: no vectors; got " + to_string(x.shape()) +
                                      ", expected rank 1 to " + std::to_string(kMaxRank - 1));
  }
  std::int64_t size = 0;
  const bool fits =
      offset != INT64_MIN && !__builtin_add_overflow(x.shape().back(), std::abs(offset), &size);
  if (!fits) {
    throw Error(ErrorCode::shape, "diag_embed: too far away; got offset " + std::to_string(offset) +
                                      ", expected a matrix of fewer than 2^60 elements");
  }
  Shape shape = x.shape();
  shape[x.rank() - 1] = size;
  shape.push_back(size);
  check_shape("diag_embed", shape);
  return on_diagonal(x, size, size, offset);
} catch (const Error& error) {
  throw_as("diag_embed", error);
}

Array diag(const Array& x, std::int64_t offset) try {
  return x.rank() == 1 ? diag_embed(x, offset) : diagonal(x, offset);
} catch (const Error& error) {
  throw_as("diag", error);
}

Array diag_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal, Device device) try {
  check_shape("diag_mask", {rows, cols});
  const Array row = unsqueeze(arange(0, rows, 1, DType::i64, device), {1});
  return not_equal(arange(0, cols, 1, DType::i64, device), add(row, diagonal));
} catch (const Error& error) {
  throw_as("diag_mask", error);
}

}  // namespace v0
}  // namespace hearth
