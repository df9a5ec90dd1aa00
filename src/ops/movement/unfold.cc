// unfold: windows along an axis that may overlap, as a view of the elements where they lie.
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr ParamSpec kUnfoldParams[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"},
    {.name = "size", .type = ParamType::i64, .range = "[0, 2^60)"},
    {.name = "step", .type = ParamType::i64, .range = "[1, 2^60)"}};

void infer_unfold(Inference& inference) {
  require_input(inference, 0);
  const Node& x = *node_of(inference.input(0));
  inference.dtype = inference.scalar_dtype = x.dtype;
  ParamReader statics(inference.params.statics().span());
  const int axis = require_axis(inference, statics.i64(), x.shape.rank());
  const std::int64_t size = statics.i64();
  const std::int64_t step = statics.i64();
  if (size < 0 || step < 1) {
    inference.fail(ErrorCode::invalid_argument, "no windows; got size " + std::to_string(size) +
                                                    " and step " + std::to_string(step) +
                                                    ", expected at least 0 and at least 1");
  }
  if (x.shape.rank() == kMaxRank) {
    inference.fail(ErrorCode::shape, "no room for the axis of windows; got " + to_string(x.shape) +
                                         ", expected rank " + std::to_string(kMaxRank - 1) +
                                         " or less");
  }
  inference.shape = x.shape;
  inference.shape[axis] = x.shape[axis] < size ? 0 : (x.shape[axis] - size) / step + 1;
  inference.shape.push_back(size);
  check_shape("unfold", inference.shape);
}

bool view_unfold(std::span<const std::uint64_t> statics, const Shape&, const Layout& in,
                 const Shape& out_shape, Layout* out) {
  ParamReader reader(statics);
  const auto axis = static_cast<int>(reader.i64());
  reader.i64();
  const std::int64_t step = reader.i64();
  const std::int64_t stride = in.strides[axis];
  out->offset = in.offset;
  out->strides = in.strides;
  // Of one window a step has no meaning, and might overflow.
  if (out_shape[axis] > 1) out->strides[axis] = stride * step;
  out->strides.push_back(stride);
  return true;
}

// Elements of a window, at most, whose gradients are added place by place instead of one by one.
constexpr std::int64_t kFewElements = 32;

// Each element gets what all windows with it got: [..., windows, ..., size] becomes slices along
// the axis, which are added to those that they were taken from.
Grads unfold_gradient(const Vjp& v) {
  ParamReader statics = v.statics();
  const std::int64_t axis = statics.i64();
  const std::int64_t size = statics.i64();
  const std::int64_t step = statics.i64();
  const Device device = v.grad.device();
  const Array base = zeros(v.shape(0), v.dtype(0), device);
  if (v.grad.size() == 0) return grads(base);
  const std::int64_t windows = v.grad.shape()[static_cast<int>(axis)];
  if (size <= kFewElements) {
    // Rows of what all windows got at one place are added where they lie.
    Array sum = wide(base);
    const int last = v.grad.rank() - 1;
    const std::int64_t between = windows > 1 ? step : 1;
    for (std::int64_t k = 0; k < size; ++k) {
      std::vector<Slice> slices(static_cast<std::size_t>(axis) + 1);
      slices.back() = {k, k + (windows - 1) * between + 1, between};
      const Array more = squeeze(wide(narrow(v.grad, last, k, 1)), {last});
      sum = slice_assign(sum, slices, add(slice(sum, slices), more));
    }
    return grads(cast(sum, v.dtype(0)));
  }
  const Array starts = unsqueeze(arange(0, windows * step, step, DType::i64, device), {1});
  const Array positions = add(starts, arange(0, size, 1, DType::i64, device));
  const Array together = movedim(v.grad, {-1}, {axis + 1});
  Shape slices = v.shape(0);
  slices[static_cast<int>(axis)] = windows * size;
  return grads(select_add(base, flat(positions), reshape(together, slices), axis));
}

std::vector<SampleCase> unfold_samples() {
  const auto make = [](const Shape& shape, std::int64_t axis, std::int64_t size, std::int64_t step,
                       int error = -1) {
    SampleCase sample;
    sample.inputs = {{.shape = shape}};
    sample.params.i64(axis).i64(size).i64(step);
    sample.error = error;
    return sample;
  };
  return {make({7}, 0, 3, 2),
          make({2, 6}, 1, 3, 1),
          make({5, 3}, 0, 2, 3),
          make({2, 4, 3}, 1, 4, 9),
          make({3, 4}, 1, 5, 1),
          make({3, 4}, 1, 0, 2),
          make({0, 4}, 1, 2, 2),
          make({3, 4}, 2, 1, 1, kArgumentError),
          make({3, 4}, 1, -1, 1, kArgumentError),
          make({3, 4}, 1, 1, 0, kArgumentError),
          make({1, 1, 1, 1, 1, 1, 1, 2}, 7, 1, 1, kShapeError)};
}

}  // namespace

constinit const OpDef defs::unfold_op = {
    .name = "unfold",
    .summary = "Windows along an axis, from every step-th element.",
    .shapes = "x [..., n, ...] -> [..., windows, ..., size], n at axis",
    .method = "",
    .kind = OpKind::view,
    .params = kUnfoldParams,
    .infer = infer_unfold,
    .vjp = unfold_gradient,
    .view = view_unfold,
    .samples = unfold_samples,
};

inline namespace v0 {

Array unfold(const Array& x, std::int64_t axis, std::int64_t size, std::int64_t step) try {
  const int at = normalize_axis("unfold", axis, x.rank());
  return call(defs::unfold_op, Params().i64(at).i64(size).i64(step), {&x});
} catch (const Error& error) {
  throw_as("unfold", error);
}

}  // namespace v0
}  // namespace hearth
