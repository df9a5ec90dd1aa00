// Views: the same elements in another order or shape. contiguous is the view that may not differ
// from memory; cat is the one copy.
#include "core/broadcast.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr ParamSpec kShapeParams[] = {
    {.name = "shape", .type = ParamType::i64_list, .range = "[0, 2^60)"}};
constexpr ParamSpec kAxesParams[] = {
    {.name = "axes", .type = ParamType::i64_list, .range = "each of [0, rank) once"}};
constexpr ParamSpec kAxisParams[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"}};
constexpr ParamSpec kSliceParams[] = {{.name = "starts", .type = ParamType::i64_list},
                                      {.name = "sizes", .type = ParamType::i64_list},
                                      {.name = "steps", .type = ParamType::i64_list}};
constexpr ParamSpec kDynamicSliceParams[] = {
    {.name = "sizes", .type = ParamType::i64_list},
    {.name = "starts", .type = ParamType::i64_list, .dynamic = true}};

ParamReader statics_of(const Inference& inference) {
  return ParamReader(inference.params.statics().span());
}

void keep_dtype(Inference& inference) {
  inference.dtype = inference.scalar_dtype = node_of(inference.input(0))->dtype;
}

// ---- What each op gives

void infer_reshape(Inference& inference) {
  keep_dtype(inference);
  const Shape& shape = node_of(inference.input(0))->shape;
  inference.shape = statics_of(inference).list();
  check_shape("reshape", inference.shape);
  if (element_count(inference.shape) != element_count(shape)) {
    inference.fail(ErrorCode::shape, "element counts differ; got " + to_string(shape) + " and " +
                                         to_string(inference.shape) + ", expected the same count");
  }
}

void infer_permute(Inference& inference) {
  keep_dtype(inference);
  const Shape& shape = node_of(inference.input(0))->shape;
  const Dims axes = statics_of(inference).list();
  std::uint32_t seen = 0;
  for (const std::int64_t axis : axes) {
    if (axis >= 0 && axis < shape.rank()) seen |= 1u << axis;
  }
  if (axes.rank() != shape.rank() || seen != (1u << shape.rank()) - 1) {
    inference.fail(ErrorCode::invalid_argument, "not a permutation; got axes " + to_string(axes) +
                                                    ", expected each of " +
                                                    std::to_string(shape.rank()) + " axes once");
  }
  inference.shape.resize(shape.rank());
  for (int i = 0; i < shape.rank(); ++i) inference.shape[i] = shape[static_cast<int>(axes[i])];
}

void infer_expand(Inference& inference) {
  keep_dtype(inference);
  const Shape& shape = node_of(inference.input(0))->shape;
  inference.shape = statics_of(inference).list();
  check_shape("expand", inference.shape);
  if (!broadcasts_to(shape, inference.shape)) {
    inference.fail(ErrorCode::shape, "does not broadcast; got " + to_string(shape) + " and " +
                                         to_string(inference.shape) +
                                         ", expected equal extents or 1, aligned at the end");
  }
}

void infer_slice(Inference& inference) {
  keep_dtype(inference);
  const Shape& shape = node_of(inference.input(0))->shape;
  ParamReader statics = statics_of(inference);
  const Dims starts = statics.list();
  const Dims sizes = statics.list();
  const Dims steps = statics.list();
  const int rank = shape.rank();
  bool fits = starts.rank() == rank && sizes.rank() == rank && steps.rank() == rank;
  for (int i = 0; fits && i < rank; ++i) {
    fits = sizes[i] >= 0 && steps[i] != 0;
    if (!fits || sizes[i] == 0) continue;
    std::int64_t last = 0;
    fits = starts[i] >= 0 && starts[i] < shape[i] &&
           !__builtin_mul_overflow(sizes[i] - 1, steps[i], &last) &&
           !__builtin_add_overflow(last, starts[i], &last) && last >= 0 && last < shape[i];
  }
  if (!fits) {
    inference.fail(ErrorCode::invalid_argument,
                   "not inside the array; got starts " + to_string(starts) + ", sizes " +
                       to_string(sizes) + ", steps " + to_string(steps) + ", expected a part of " +
                       to_string(shape));
  }
  inference.shape = sizes;
}

void infer_dynamic_slice(Inference& inference) {
  keep_dtype(inference);
  const Shape& shape = node_of(inference.input(0))->shape;
  inference.shape = statics_of(inference).list();
  const auto& starts = inference.params.dynamics();
  bool fits = inference.shape.rank() == shape.rank() && starts.size() == shape.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) {
    const std::int64_t start = dynamic_i64(starts[i]);
    fits = start >= 0 && inference.shape[i] >= 0 && inference.shape[i] <= shape[i] &&
           start <= shape[i] - inference.shape[i];
  }
  if (!fits) {
    Dims asked;
    for (int i = 0; i < starts.size() && i < kMaxRank; ++i) asked.push_back(dynamic_i64(starts[i]));
    inference.fail(ErrorCode::invalid_argument,
                   "not inside the array; got starts " + to_string(asked) + " and sizes " +
                       to_string(inference.shape) + ", expected a part of " + to_string(shape));
  }
}

void infer_contiguous(Inference& inference) {
  keep_dtype(inference);
  inference.shape = node_of(inference.input(0))->shape;
}

void infer_cat(Inference& inference) {
  const auto count = static_cast<int>(inference.inputs.size());
  for (int i = 0; i < count; ++i) require_input(inference, i);
  inference.dtype = inference.scalar_dtype = common_dtype(inference);
  inference.shape = inference.input(0).shape();
  const int rank = inference.shape.rank();
  const std::int64_t axis = statics_of(inference).i64();
  if (rank == 0 || axis < 0 || axis >= rank) {
    inference.fail(ErrorCode::invalid_argument, "axis out of range; got " + std::to_string(axis) +
                                                    ", expected one of " + std::to_string(rank));
  }
  const int at = static_cast<int>(axis);
  for (int i = 1; i < count; ++i) {
    Shape shape = inference.input(i).shape();
    const std::int64_t extent = shape.rank() == rank ? shape[at] : 0;
    if (shape.rank() == rank) shape[at] = inference.shape[at];
    if (shape != inference.shape) {
      inference.fail(ErrorCode::shape,
                     "arrays differ beside the axis; got " + to_string(inference.input(0).shape()) +
                         " and " + to_string(inference.input(i).shape()) +
                         ", expected equal extents except along axis " + std::to_string(axis));
    }
    if (__builtin_add_overflow(inference.shape[at], extent, &inference.shape[at])) {
      inference.fail(ErrorCode::shape, "too many elements along axis " + std::to_string(axis) +
                                           "; got " + std::to_string(count) +
                                           " arrays, among them " +
                                           to_string(inference.input(i).shape()) +
                                           ", expected a product of extents below 2^60");
    }
  }
  check_shape("cat", inference.shape);
}

// ---- Where the elements lie

// Merges and splits axes without moving elements where every merged run has one stride. Axes of
// extent 1 take no part: their strides mean nothing.
bool view_reshape(std::span<const std::uint64_t>, const Shape& in_shape, const Layout& in,
                  const Shape& out_shape, Layout* out) {
  out->offset = in.offset;
  if (is_dense(in_shape, in.strides)) {
    out->strides = contiguous_strides(out_shape);
    return true;
  }
  out->strides = Strides::filled(out_shape.rank(), 0);
  int i = in_shape.rank() - 1;
  int o = out_shape.rank() - 1;
  std::int64_t unit_stride = 1;
  for (;;) {
    while (i >= 0 && in_shape[i] == 1) --i;
    while (o >= 0 && out_shape[o] == 1) out->strides[o--] = unit_stride;
    if (i < 0 || o < 0) return i < 0 && o < 0;
    // The shortest runs of axes on both sides with equal products.
    const std::int64_t stride = in.strides[i];
    std::int64_t in_count = in_shape[i];
    std::int64_t out_count = 1;
    while (true) {
      if (out_count < in_count) {
        if (o < 0) return false;
        out->strides[o] = stride * out_count;
        out_count *= out_shape[o--];
      } else if (in_count < out_count) {
        do --i;
        while (i >= 0 && in_shape[i] == 1);
        if (i < 0 || in.strides[i] != stride * in_count) return false;
        in_count *= in_shape[i];
      } else {
        break;
      }
    }
    --i;
    unit_stride = stride * in_count;
  }
}

bool view_permute(std::span<const std::uint64_t> statics, const Shape&, const Layout& in,
                  const Shape&, Layout* out) {
  const Dims axes = ParamReader(statics).list();
  out->offset = in.offset;
  out->strides.resize(axes.rank());
  for (int i = 0; i < axes.rank(); ++i) out->strides[i] = in.strides[static_cast<int>(axes[i])];
  return true;
}

bool view_expand(std::span<const std::uint64_t>, const Shape& in_shape, const Layout& in,
                 const Shape& out_shape, Layout* out) {
  const int extra = out_shape.rank() - in_shape.rank();
  out->offset = in.offset;
  out->strides = Strides::filled(out_shape.rank(), 0);
  for (int i = 0; i < in_shape.rank(); ++i) {
    if (in_shape[i] == out_shape[i + extra]) out->strides[i + extra] = in.strides[i];
  }
  return true;
}

bool view_slice(std::span<const std::uint64_t> statics, const Shape&, const Layout& in,
                const Shape& out_shape, Layout* out) {
  ParamReader reader(statics);
  const Dims starts = reader.list();
  reader.list();
  const Dims steps = reader.list();
  const bool empty = element_count(out_shape) == 0;
  out->offset = in.offset;
  out->strides.resize(out_shape.rank());
  for (int i = 0; i < out_shape.rank(); ++i) {
    if (!empty) out->offset += starts[i] * in.strides[i];
    out->strides[i] = out_shape[i] > 1 ? in.strides[i] * steps[i] : in.strides[i];
  }
  return true;
}

bool view_same(std::span<const std::uint64_t>, const Shape&, const Layout& in, const Shape&,
               Layout* out) {
  *out = in;
  return true;
}

bool view_contiguous(std::span<const std::uint64_t>, const Shape& in_shape, const Layout& in,
                     const Shape&, Layout* out) {
  if (!is_dense(in_shape, in.strides)) return false;
  out->offset = in.offset;
  out->strides = contiguous_strides(in_shape);
  return true;
}

// ---- Gradients

Grads permute_gradient(const Vjp& v) {
  const Dims axes = v.statics().list();
  Dims inverse = axes;
  for (int i = 0; i < axes.rank(); ++i) inverse[static_cast<int>(axes[i])] = i;
  return grads(permute(v.grad, inverse));
}

// Zeros of the input's shape with the gradient where the elements came from.
Array put_back(const Vjp& v, const Dims& starts, const Dims& steps) {
  if (v.grad.size() == 0) return full(v.shape(0), 0.0, v.dtype(0), v.grad.device());
  Params params;
  params.list(steps);
  for (const std::int64_t start : starts) params.dynamic_i64(start);
  const Array empty = full(v.shape(0), 0.0, v.dtype(0), v.grad.device());
  const Array* const inputs[] = {&empty, &v.grad};
  return record(defs::slice_assign_op, inputs, params);
}

Grads slice_gradient(const Vjp& v) {
  ParamReader statics = v.statics();
  const Dims starts = statics.list();
  statics.list();
  const Dims steps = statics.list();
  return grads(put_back(v, starts, steps));
}

Grads dynamic_slice_gradient(const Vjp& v) {
  const int rank = v.shape(0).rank();
  Dims starts;
  for (int i = 0; i < rank; ++i) starts.push_back(dynamic_i64(v.dynamic(i)));
  return grads(put_back(v, starts, Dims::filled(rank, 1)));
}

Grads cat_gradient(const Vjp& v) {
  const int axis = static_cast<int>(v.statics().i64());
  Grads list(static_cast<std::size_t>(v.input_count()));
  std::int64_t start = 0;
  for (int i = 0; i < v.input_count(); ++i) {
    const std::int64_t extent = v.shape(i)[axis];
    if (v.needs(i)) list[static_cast<std::size_t>(i)] = narrow(v.grad, axis, start, extent);
    start += extent;
  }
  return list;
}

// ---- Samples

SampleCase sample_of(const Shape& shape, const std::vector<Dims>& lists, int error = -1) {
  SampleCase sample;
  sample.inputs = {{.shape = shape}};
  for (const Dims& list : lists) sample.params.list(list);
  sample.error = error;
  return sample;
}

std::vector<SampleCase> reshape_samples() {
  return {sample_of({2, 6}, {{3, 4}}),
          sample_of({2, 3, 4}, {{6, 4}}),
          sample_of({1}, {Dims{}}),
          sample_of({0, 3}, {{2, 0}}),
          sample_of({4, 1, 3}, {{2, 1, 2, 3}}),
          sample_of({2, 3}, {{4}}, kShapeError)};
}
std::vector<SampleCase> permute_samples() {
  return {sample_of({2, 3}, {{1, 0}}), sample_of({2, 3, 4}, {{2, 0, 1}}), sample_of({}, {Dims{}}),
          sample_of({0, 3}, {{1, 0}}), sample_of({2, 3}, {{0, 0}}, kArgumentError)};
}
std::vector<SampleCase> expand_samples() {
  return {sample_of({3}, {{2, 3}}), sample_of({2, 1, 3}, {{2, 4, 3}}), sample_of({}, {{2, 2}}),
          sample_of({1, 3}, {{0, 3}}), sample_of({2}, {{3}}, kShapeError)};
}
std::vector<SampleCase> slice_samples() {
  return {sample_of({5, 4}, {{1, 0}, {3, 2}, {1, 2}}), sample_of({5}, {{4}, {5}, {-1}}),
          sample_of({8}, {{7}, {3}, {-2}}), sample_of({5, 4}, {{0, 3}, {0, 1}, {1, 1}}),
          sample_of({5}, {{3}, {3}, {1}}, kArgumentError)};
}
std::vector<SampleCase> dynamic_slice_samples() {
  SampleCase inside = sample_of({5, 4}, {{2, 3}});
  inside.params.dynamic_i64(3).dynamic_i64(1);
  SampleCase outside = sample_of({5, 4}, {{2, 3}}, kArgumentError);
  outside.params.dynamic_i64(4).dynamic_i64(1);
  return {inside, outside};
}
std::vector<SampleCase> contiguous_samples() {
  return {sample_of({2, 3}, {}), sample_of({}, {}), sample_of({0, 2}, {})};
}
std::vector<SampleCase> cat_samples() {
  const auto make = [](const std::vector<Shape>& shapes, std::int64_t axis, int error = -1) {
    SampleCase sample;
    for (const Shape& shape : shapes) sample.inputs.push_back({.shape = shape});
    sample.params.i64(axis);
    sample.error = error;
    return sample;
  };
  return {make({{2, 3}, {1, 3}}, 0), make({{2, 3}, {2, 0}, {2, 2}}, 1), make({{4}}, 0),
          make({{2, 3}, {2, 2}}, 0, kShapeError), make({{2}, {2}}, 1, kArgumentError)};
}

}  // namespace

namespace defs {

constinit const OpDef reshape_op = {
    .name = "reshape",
    .summary = "The same elements in row-major order under another shape.",
    .shapes = "x [...] -> [shape]",
    .kind = OpKind::view,
    .params = kShapeParams,
    .infer = infer_reshape,
    .vjp = [](const Vjp& v) { return grads(reshape(v.grad, v.shape(0))); },
    .view = view_reshape,
    .takes_packed = true,
    .samples = reshape_samples,
};

constinit const OpDef permute_op = {
    .name = "permute",
    .summary = "Axes in another order.",
    .shapes = "x [...] -> [extent of x at each of axes]",
    .kind = OpKind::view,
    .params = kAxesParams,
    .infer = infer_permute,
    .vjp = permute_gradient,
    .view = view_permute,
    .takes_packed = true,
    .samples = permute_samples,
};

constinit const OpDef expand_op = {
    .name = "expand",
    .summary = "Extents of 1 stretched and axes added in front.",
    .shapes = "x [...] -> [shape]",
    .kind = OpKind::view,
    .params = kShapeParams,
    .infer = infer_expand,
    .vjp = [](const Vjp& v) { return grads(sum_to(v.grad, v.shape(0))); },
    .view = view_expand,
    .takes_packed = true,
    .samples = expand_samples,
};

constinit const OpDef slice_op = {
    .name = "slice",
    .summary = "A part of x: element i along an axis is element start + i * step of x.",
    .shapes = "x [...] -> [sizes]",
    .kind = OpKind::view,
    .params = kSliceParams,
    .infer = infer_slice,
    .vjp = slice_gradient,
    .view = view_slice,
    .samples = slice_samples,
};

constinit const OpDef dynamic_slice_op = {
    .name = "dynamic_slice",
    .summary = "A part of fixed sizes whose start may change without a new plan.",
    .shapes = "x [...] -> [sizes]",
    .method = "",
    .kind = OpKind::view,
    .params = kDynamicSliceParams,
    .infer = infer_dynamic_slice,
    .vjp = dynamic_slice_gradient,
    .view = view_same,
    .dynamic_offset = true,
    .samples = dynamic_slice_samples,
};

constinit const OpDef contiguous_op = {
    .name = "contiguous",
    .summary = "The same values in dense row-major memory.",
    .shapes = "x [...] -> [...]",
    .kind = OpKind::view,
    .infer = infer_contiguous,
    .vjp = [](const Vjp& v) { return grads(v.grad); },
    .view = view_contiguous,
    .takes_packed = true,
    .samples = contiguous_samples,
};

constinit const OpDef cat_op = {
    .name = "cat",
    .summary = "Arrays joined along an axis.",
    .shapes = "arrays [..., n, ...], any number of them -> [..., sum of n, ...], n at axis",
    .kind = OpKind::opaque,
    .params = kAxisParams,
    .max_inputs = -1,
    .infer = infer_cat,
    .vjp = cat_gradient,
    .samples = cat_samples,
};

}  // namespace defs
}  // namespace hearth
