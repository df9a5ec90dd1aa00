// resample: each spatial axis times a sparse matrix. Its gradient is itself, with the matrices
// transposed.
#include "ops/image/resample.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops/image.h"
#include "ops/conv/window.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace resampling {
namespace {

constexpr int kLastRule = static_cast<int>(ResampleRule::lanczos);
static_assert(kLastRule < 10);
constexpr char kRuleRange[] = {'[', '0', ',', ' ', '0' + kLastRule, ']', 0};

constexpr ParamSpec kParams[] = {
    {.name = "rule", .type = ParamType::i64, .range = kRuleRange},
    {.name = "flag", .type = ParamType::boolean},
    {.name = "adjoint", .type = ParamType::boolean},
    {.name = "extents", .type = ParamType::i64_list, .range = "[1, inf)"},
    kPoolWindow[0],
    {.name = "kernel", .type = ParamType::i64_list, .range = "[1, inf), or none"},
    {.name = "stride", .type = ParamType::i64_list, .range = "[1, inf), or none"},
    {.name = "padding", .type = ParamType::i64_list, .range = "[0, inf), or none"},
    {.name = "dilation", .type = ParamType::i64_list, .range = "[1, inf), or none"}};

Params params_of(const Resampling& resampling) {
  Params params;
  resampling.append_to(&params);
  return params;
}

bool has_windows(ResampleRule rule) {
  return rule == ResampleRule::mean || rule == ResampleRule::sum;
}

void infer(Inference& inference) {
  require_input(inference, 0);
  require_float(inference, 0, "x");
  const Array& x = inference.input(0);
  const int axes = x.shape().rank() - 2;
  if (axes < 1 || axes > 3) {
    inference.fail(ErrorCode::shape, "x of wrong rank; got " + to_string(x.shape()) +
                                         ", expected [batch, channels, spatial...] with one to "
                                         "three spatial axes");
  }
  const Resampling resampling(ParamReader(inference.params.statics().span()));
  if (static_cast<int>(resampling.rule) > kLastRule) {
    inference.fail(ErrorCode::invalid_argument,
                   "no such rule; got " + std::to_string(static_cast<int>(resampling.rule)) +
                       ", expected one of " + kRuleRange);
  }
  if (!has_windows(resampling.rule) && resampling.window.kernel.rank() != 0) {
    inference.fail(ErrorCode::invalid_argument, "a rule without windows takes no kernel; got " +
                                                    to_string(resampling.window.kernel) +
                                                    ", expected none");
  }
  if (!resampling.adjoint && resampling.extents != spatial(x.shape())) {
    inference.fail(ErrorCode::shape, "x does not fit; got " + to_string(x.shape()) +
                                         ", expected spatial extents " +
                                         to_string(resampling.extents));
  }
  if (resampling.extents.rank() != axes) {
    inference.fail(ErrorCode::invalid_argument, "extents do not fit; got " +
                                                    to_string(resampling.extents) + ", expected " +
                                                    std::to_string(axes));
  }
  // Only a mean that counts padding asks for its end.
  const bool counts_padding = resampling.rule == ResampleRule::mean && resampling.flag;
  resampling.window.check(inference, resampling.extents, counts_padding);
  if (resampling.inputs() != spatial(x.shape())) {
    inference.fail(ErrorCode::shape, "x does not fit; got " + to_string(x.shape()) +
                                         ", expected spatial extents " +
                                         to_string(resampling.inputs()));
  }
  for (int i = 0; i < axes; ++i) {
    const std::int64_t most =
        std::max({most_taps(resampling, i), resampling.extents[i], resampling.window.positions[i]});
    if (most <= kMaxAxisTaps) continue;
    inference.fail(ErrorCode::shape,
                   "too much along an axis; got " + std::to_string(most) +
                       " pairs of a result and an element that it is made of, expected at most " +
                       std::to_string(kMaxAxisTaps));
  }
  inference.shape = with_spatial(x.shape()[0], x.shape()[1], resampling.results());
  check_shape("resample", inference.shape);
  inference.dtype = inference.scalar_dtype = x.dtype();
}

Grads gradient(const Vjp& v) {
  return grads(resampled(v.grad, Resampling(v.statics()).transposed()));
}

// x times the matrix of one axis: all results get as many elements as the one with most, which are
// then summed.
Array along(const Array& x, const AxisTaps& taps, int axis) {
  std::int64_t most = 1;
  for (std::int64_t o = 0; o < taps.results(); ++o) most = std::max(most, taps.count(o));
  const auto size = static_cast<std::size_t>(taps.results() * most);
  std::vector<std::int64_t> indices(size, 0);
  std::vector<double> weights(size, 0);
  for (std::int64_t o = 0; o < taps.results(); ++o) {
    const std::int64_t first = taps.begin[static_cast<std::size_t>(o)];
    for (std::int64_t k = 0; k < taps.count(o); ++k) {
      const auto to = static_cast<std::size_t>(o * most + k);
      indices[to] = taps.index[static_cast<std::size_t>(first + k)];
      weights[to] = taps.weight[static_cast<std::size_t>(first + k)];
    }
  }
  Shape split = x.shape();
  split[axis] = taps.results();
  split.insert(axis + 1, most);
  Shape factors = Dims::filled(split.rank(), 1);
  factors[axis] = taps.results();
  factors[axis + 1] = most;
  Array factor;
  if (x.dtype() == DType::f64) {
    factor = Array::from_data(weights, factors, x.device());
  } else {
    const std::vector<float> narrow(weights.begin(), weights.end());
    factor = Array::from_data(narrow, factors, x.device());
  }
  const Array index = Array::from_data(indices, {static_cast<std::int64_t>(size)}, x.device());
  const Array taken = reshape(select(x, index, axis), split);
  // Elements without a weight are no part of the result, whatever they are.
  return sum(where(equal(factor, 0.0), 0.0, mul(taken, factor)), {axis + 1});
}

Array composite(const Composite& c) {
  const Resampling resampling(c.statics());
  Array x = wide(c.input(0));
  if (x.size() == 0) {
    const Shape shape = with_spatial(x.shape()[0], x.shape()[1], resampling.results());
    return contiguous(zeros(shape, c.input(0).dtype(), x.device()));
  }
  for (int i = 0; i < resampling.extents.rank(); ++i) {
    x = along(x, axis_taps(resampling, i), i + 2);
  }
  return cast(x, c.input(0).dtype());
}

Resampling points(ResampleRule rule, bool flag, const Dims& extents, const Dims& results) {
  Resampling resampling;
  resampling.rule = rule;
  resampling.flag = flag;
  resampling.extents = extents;
  resampling.window.positions = results;
  return resampling;
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> cases;
  const auto add = [&](const Resampling& resampling, int error = SampleCase::kValid) {
    for (const bool adjoint : {false, true}) {
      Resampling one = resampling;
      one.adjoint = adjoint;
      const std::int64_t batch = resampling.extents.rank() == 3 ? 1 : 2;
      cases.push_back({{{with_spatial(batch, 3, one.inputs())}}, params_of(one), error});
    }
  };
  add(points(ResampleRule::nearest, false, {5}, {12}));
  add(points(ResampleRule::nearest, false, {4, 6}, {6, 3}));
  add(points(ResampleRule::nearest_exact, false, {4, 6}, {6, 3}));
  add(points(ResampleRule::linear, true, {4, 5}, {7, 9}));
  add(points(ResampleRule::linear, false, {6, 5}, {3, 10}));
  add(points(ResampleRule::linear, true, {2, 3, 4}, {3, 3, 1}));
  add(points(ResampleRule::cubic, true, {6, 3}, {4, 8}));
  add(points(ResampleRule::cubic, false, {5, 2}, {10, 5}));
  add(points(ResampleRule::lanczos, true, {7, 4}, {5, 9}));
  add(points(ResampleRule::lanczos, false, {1, 8}, {3, 4}));
  add(points(ResampleRule::mean, false, {5, 7}, {3, 4}));
  add(points(ResampleRule::mean, false, {3, 4}, {5, 1}));
  Resampling windows = points(ResampleRule::mean, true, {7, 8}, {4, 4});
  windows.window.kernel = {3, 2};
  windows.window.stride = {2, 2};
  windows.window.padding = {1, 0};
  windows.window.dilation = {1, 1};
  add(windows);
  windows.flag = false;
  windows.window.dilation = {2, 1};
  windows.window.positions = {3, 4};
  add(windows);
  windows.rule = ResampleRule::sum;
  add(windows);
  windows.window.positions = {3, 5};  // padding behind, none in front
  add(windows);
  windows.window.positions = {3, 3};
  add(windows, kArgumentError);
  windows.window.positions = {3, 4};
  windows.window.stride = {2, 0};
  add(windows, kArgumentError);
  add(points(ResampleRule::linear, true, {4, 5}, {0, 9}), kArgumentError);
  Params params = params_of(points(ResampleRule::linear, true, {4, 5}, {3, 9}));
  cases.push_back({{{{2, 3, 4, 6}}}, params, kShapeError});
  cases.push_back({{{{3, 4}}}, params, kShapeError});
  cases.push_back({{{{0, 3, 4, 5}}}, params});
  return cases;
}

constexpr ResampleRule kRules[] = {ResampleRule::nearest, ResampleRule::nearest_exact,
                                   ResampleRule::linear, ResampleRule::cubic,
                                   ResampleRule::lanczos};

}  // namespace
}  // namespace resampling

constinit const OpDef defs::resample_op = {
    .name = "resample",
    .summary = "Each spatial axis times a sparse matrix: means of windows, and resized images.",
    .shapes = "x [batch, channels, spatial...] -> [batch, channels, results...]",
    .method = "",
    .params = resampling::kParams,
    .infer = resampling::infer,
    .vjp = resampling::gradient,
    .composite = resampling::composite,
    .accepts_dtype = is_float,
    .samples = resampling::samples,
};

Array resampled(const Array& x, const Resampling& resampling) {
  return call(defs::resample_op, resampling::params_of(resampling), {&x});
}

inline namespace v0 {

Array interpolate(const Array& x, const Dims& sizes, InterpolateMode mode, bool align_corners) try {
  const auto at = static_cast<std::size_t>(mode);
  if (at >= std::size(resampling::kRules)) {
    throw Error(ErrorCode::invalid_argument,
                "interpolate: no such mode; got " + std::to_string(at) + ", expected a mode");
  }
  const Dims extents = x.defined() && x.rank() > 2 ? spatial(x.shape()) : Dims();
  const bool flag =
      align_corners && mode != InterpolateMode::nearest && mode != InterpolateMode::nearest_exact;
  return resampled(x, resampling::points(resampling::kRules[at], flag, extents, sizes));
} catch (const Error& error) {
  throw_as("interpolate", error);
}

}  // namespace v0
}  // namespace hearth
