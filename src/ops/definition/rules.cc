#include "ops/definition/rules.h"

#include <cmath>

#include "core/number_text.h"
#include "graph/switches.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/sync.h"

namespace hearth {

void require_input(const Inference& inference, int i) {
  if (!inference.has(i)) {
    inference.fail(ErrorCode::invalid_argument, "no value; got an undefined array as input " +
                                                    std::to_string(i) + ", expected a defined one");
  }
}

void require_accepted(const Inference& inference, DType dtype) {
  const auto accepts = inference.op.accepts_dtype;
  if (accepts == nullptr || accepts(dtype)) return;
  std::string expected;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (!accepts(static_cast<DType>(i))) continue;
    if (!expected.empty()) expected += ", ";
    expected += name(static_cast<DType>(i));
  }
  inference.fail(ErrorCode::dtype, "dtype not supported; got " + std::string(name(dtype)) +
                                       ", expected one of " + expected);
}

void require_float_array(const char* op, const Array& x) {
  if (is_float(x.dtype())) return;
  throw Error(ErrorCode::dtype, std::string(op) + ": not a float array; got " +
                                    std::string(name(x.dtype())) +
                                    ", expected f64, f32, f16 or bf16");
}

DType operand_dtype(const Inference& inference, int first, int last) {
  const DType dtype = common_dtype(inference, first, last);
  const auto accepts = inference.op.accepts_dtype;
  if (accepts == nullptr || accepts(dtype) || !is_int(dtype)) return dtype;
  for (int i = first; i <= last; ++i) {
    if (inference.has(i) && !node_of(inference.input(i))->weak) return dtype;
  }
  return accepts(DType::f32) ? DType::f32 : dtype;
}

void require_number_fits(const char* op, const Node& number, DType dtype) {
  if (!is_int(dtype) || !number.weak) return;
  const int bits = static_cast<int>(8 * size_of(dtype));
  const double value = scalar_as_double(number);
  const double low = info(dtype).is_signed ? -std::ldexp(1.0, bits - 1) : 0.0;
  const double end = std::ldexp(1.0, info(dtype).is_signed ? bits - 1 : bits);
  // The least and greatest i64 round to ends of the range, and fit.
  const bool fits = value >= low && (value < end || (bits == 64 && !is_float(number.dtype)));
  if (fits || scalar_is_fractional(number)) return;
  throw Error(ErrorCode::dtype, std::string(op) + ": number out of range; got " +
                                    number_text(value) + ", expected one that " +
                                    std::string(name(dtype)) + " holds");
}

void require_indices(const OpDef& op, const Array& indices, std::int64_t extent) {
  if (!switches().check_indices || !indices.defined() || !is_int(indices.dtype())) return;
  if (indices.size() == 0) return;
  const NoGrad no_grad;
  const std::int64_t least = number_now(min(indices)), largest = number_now(max(indices));
  if (least >= 0 && largest < extent) return;
  throw Error(ErrorCode::invalid_argument, std::string(op.name.text) +
                                               ": index out of range; got " +
                                               std::to_string(least < 0 ? least : largest) +
                                               ", expected 0 to " + std::to_string(extent - 1));
}

namespace {

// The shape all inputs broadcast to and the dtype they share, which is returned.
DType infer_broadcast(Inference& inference) {
  const auto inputs = inference.inputs;
  const int count = static_cast<int>(inputs.size());
  bool same = true;  // all are arrays of one dtype and shape
  const Node* first = count > 0 && inputs[0] != nullptr ? node_of(*inputs[0]) : nullptr;
  for (int i = 0; i < count; ++i) {
    const Node* node = inputs[static_cast<std::size_t>(i)] != nullptr
                           ? node_of(*inputs[static_cast<std::size_t>(i)])
                           : nullptr;
    if (node == nullptr) require_input(inference, i);
    same = same && node->device != nullptr && node->dtype == first->dtype &&
           (node == first || node->shape == first->shape);
  }
  DType dtype;
  if (same) {
    dtype = first->dtype;
    inference.shape = first->shape;
  } else {
    dtype = operand_dtype(inference, 0, count - 1);
    if (is_int(dtype)) {
      for (int i = 0; i < count; ++i) {
        require_number_fits(inference.op.name.text, *node_of(inference.input(i)), dtype);
      }
    }
    inference.shape = first->shape;
    for (int i = 1; i < count; ++i) {
      const Shape& shape = node_of(*inputs[static_cast<std::size_t>(i)])->shape;
      if (shape.rank() != 0 && shape != inference.shape) {
        inference.shape = broadcast_shapes(inference.op.name.text, inference.shape, shape);
      }
    }
  }
  const auto accepts = inference.op.accepts_dtype;
  if (accepts != nullptr && !accepts(dtype)) require_accepted(inference, dtype);
  inference.scalar_dtype = dtype;
  return dtype;
}

}  // namespace

void infer_elementwise(Inference& inference) { inference.dtype = infer_broadcast(inference); }

void infer_elementwise_bool(Inference& inference) {
  infer_broadcast(inference);
  inference.dtype = DType::bool_;
}

IntegerLimits integer_limits(DType dtype) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  if (!info(dtype).is_signed) {
    return {0, bits == 64 ? kHighest : static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1)};
  }
  return {kMin >> (64 - bits), kHighest >> (64 - bits)};
}

std::uint32_t axis_bits(const char* op, const Dims& axes, int rank) {
  std::uint32_t bits = 0;
  for (const std::int64_t axis : axes) {
    const std::uint32_t bit = 1u << normalize_axis(op, axis, rank);
    if ((bits & bit) != 0) {
      throw Error(ErrorCode::invalid_argument, std::string(op) + ": axis named twice; got axes " +
                                                   to_string(axes) + ", expected each once");
    }
    bits |= bit;
  }
  return bits;
}

Shape batch_of(const Shape& shape) {
  return {shape.data(), static_cast<std::size_t>(shape.rank() - 2)};
}
Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t cols) {
  batch.push_back(rows);
  batch.push_back(cols);
  return batch;
}

Array wide(const Array& x) { return cast(x, compute_dtype(x.dtype())); }
Array flat(const Array& x) { return reshape(x, {x.size()}); }

std::vector<SampleCase> elementwise_samples(int arity, double lo, double hi) {
  const auto make = [&](const std::vector<Shape>& shapes) {
    SampleCase sample;
    for (int i = 0; i < arity; ++i) {
      const auto at = static_cast<std::size_t>(i) % shapes.size();
      sample.inputs.push_back({.shape = shapes[at], .lo = lo, .hi = hi});
    }
    return sample;
  };
  std::vector<SampleCase> samples = {make({{2, 3}}), make({{}}), make({{0, 3}}), make({{37}})};
  if (arity > 1) {
    samples.push_back(make({{2, 1, 3}, {4, 1}}));
    samples.push_back(make({{3}, {2, 3}}));
    SampleCase wrong = make({{2, 3}, {4}});
    wrong.error = kShapeError;
    samples.push_back(wrong);
  }
  return samples;
}

}  // namespace hearth
