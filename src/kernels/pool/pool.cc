// max_pool, its gradient, and resample: kernels/pool/max_pool.metal and
// kernels/pool/resample.metal.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/dialect_types.h"
#include "kernels/launch/divisor.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/image/axis_taps.h"

namespace hearth::gpu {

#include "kernels/pool/params.h"

namespace pools {
namespace {

constexpr std::int64_t kMaxPlanes = 8;
// Of max_pool, which has two registers for each, and its gradient.
constexpr std::int64_t kMaxPoolPlanes = 4;
// Threads that share a window whose rows are at least as long.
constexpr std::int64_t kMinShared = 4;

// No kernel has the last rule.
static_assert(static_cast<int>(ResampleRule::mean) == kResampleMean &&
              static_cast<int>(ResampleRule::sum) == kResampleSum &&
              static_cast<int>(ResampleRule::nearest) == kResampleNearest &&
              static_cast<int>(ResampleRule::nearest_exact) == kResampleNearestExact &&
              static_cast<int>(ResampleRule::linear) == kResampleLinear &&
              static_cast<int>(ResampleRule::cubic) == kResampleCubic &&
              static_cast<int>(ResampleRule::lanczos) == kResampleCubic + 1);

// 0 where x lacks the axis.
std::int64_t step_along(const TensorSpec& spec, int axis) {
  return spec.shape[axis] > 1 ? spec.strides[axis] : 0;
}

// The threads and the constants of a call. `from` is x or a gradient, `places` (perhaps null) the
// array of indices beside it or beside `to`.
class PoolCall {
 public:
  PoolCall(const Signature& signature, const PoolWindow& window, const Dims& extents, bool adjoint,
           const TensorSpec* places, int places_operand)
      : signature_(signature), from_(signature.inputs[0]), to_(signature.output), places_(places) {
    const StridedOperand from = strided_operand(from_, 0);
    read = from.argument;
    params.base = from.base;
    if (places != nullptr) params.places_base = strided_operand(*places, places_operand).base;
    set_axes(window, extents, adjoint);
    set_planes();
    reach_ = std::max(reach_, element_count(to_.shape));
    for (const TensorSpec* each : {&from_, places_}) {
      if (each == nullptr) continue;
      reach_ = std::max(reach_, strided_operand(*each, 0).argument.bytes / size_of(each->dtype));
    }
  }

  // Lanes share windows of sums, whose rows they read together; where they read channels together,
  // only those that are too few for the device.
  void share(std::int64_t window_row) {
    if (window_row < kMinShared) return;
    const std::int64_t threads = element_count(to_.shape) / planes_;
    if (params.planes_first != 0 && threads >= resident_threads(*signature_.device) / 2) return;
    const std::int64_t lanes = std::min(floor_power_of_two(window_row), kSimdWidth);
    while (std::int64_t{1} << params.lane_bits < lanes) ++params.lane_bits;
  }

  // `packets`: whether the kernel has them; `limit`: planes that a thread may have.
  void choose(bool packets, std::int64_t limit = kMaxPlanes) {
    most_planes_ = limit;
    const std::int64_t item = size_of(from_.dtype);
    const std::int64_t most = std::min(limit, kPacketBytes / item);
    packed_ = packets && most > 1 && packs(from_, most);
    if (packed_) {
      planes_ = most;
      params.packed_result = packs(to_, most) ? 1 : 0;
      params.planes_first = 1;
      return;
    }
    const std::int64_t across = std::abs(step_along(from_, 1));
    const std::int64_t along = std::abs(params.axis[2].step);
    params.planes_first = params.planes > 1 && along != 0 && across < along ? 1 : 0;
  }

  // As many planes a thread as leave threads for the whole device.
  void finish() {
    const std::int64_t results = element_count(to_.shape);
    if (!packed_) {
      const std::int64_t threads = results << params.lane_bits;
      for (const std::int64_t planes : {kMaxPlanes, kMaxPoolPlanes}) {
        if (planes_ > 1 || planes > std::min<std::int64_t>(most_planes_, 2 * params.planes))
          continue;
        if (threads / planes >= resident_threads(*signature_.device) / 4) planes_ = planes;
      }
    }
    params.chunks = ceil_div(params.planes, planes_);
    params.by_chunks = divisor(params.chunks);
    params.count = results / params.planes * params.chunks;
  }

  std::vector<std::string> arguments(const std::vector<std::string>& more, bool packed) const {
    std::vector<std::string> all = {dtype_struct(from_.dtype), is_small() ? "int" : "long"};
    all.insert(all.end(), more.begin(), more.end());
    all.push_back(std::to_string(planes_));
    if (has_packets) all.emplace_back(truth(packed));
    return all;
  }
  std::int64_t alignment(bool packed) const { return packed ? planes_ * size_of(from_.dtype) : 1; }
  std::int64_t result_alignment(bool packed) const {
    return packed && params.packed_result != 0 ? alignment(true) : 1;
  }
  bool packed() const { return packed_; }
  Step step(StepPlan& plan, KernelCall& call, bool packed, bool rare) const {
    PoolParams all = params;
    if (!packed) all.packed_result = 0;
    return call.constants(all).step(plan, groups_for(params.count << params.lane_bits), {kThreads},
                                    kThreads, rare);
  }

  PoolParams params{};
  StepArgument read;
  bool has_packets = true;

 private:
  // The axes that x lacks are in front, of one element and one window.
  void set_axes(const PoolWindow& window, const Dims& extents, bool adjoint) {
    const int count = extents.rank();
    for (PoolAxis& axis : params.axis) {
      axis = {1, 1, 1, 1, 0, 1, 1, divisor(1), divisor(1), 0, 0, 0};
    }
    // Points have no kernel, but every axis of one call is of one kind.
    if (window.kernel.rank() == 0) {
      for (PoolAxis& axis : params.axis) axis.window = 0;
    }
    for (int i = 0; i < count; ++i) {
      const AxisWindow along = window.axis(i, extents[i]);
      params.axis[3 - count + i] = {along.extent,
                                    along.positions,
                                    along.kernel,
                                    along.stride,
                                    along.padding,
                                    along.dilation,
                                    adjoint ? along.extent : along.positions,
                                    divisor(adjoint ? along.extent : along.positions),
                                    divisor(along.positions),
                                    step_along(from_, i + 2),
                                    places_ == nullptr ? 0 : step_along(*places_, i + 2),
                                    step_along(to_, i + 2)};
      // What the kernels compute of an axis; each factor is below 2^32.
      std::int64_t points = 0, span = 0;
      if (__builtin_mul_overflow(4 * (along.extent + 4), along.positions + 4, &points) ||
          __builtin_mul_overflow(along.positions + 1, along.stride, &span) ||
          __builtin_add_overflow(span, along.kernel * along.dilation, &span) ||
          __builtin_add_overflow(span, along.extent + 2 * along.padding, &span)) {
        points = std::numeric_limits<std::int64_t>::max();
      }
      reach_ = std::max({reach_, points, span});
    }
  }

  // Batch and channels, as one axis where all operands have them so.
  void set_planes() {
    const std::int64_t batch = from_.shape[0], channels = from_.shape[1];
    bool merge = batch == 1 || channels == 1;
    if (!merge) {
      merge = true;
      for (const TensorSpec* each : {&from_, &to_, places_}) {
        if (each != nullptr) merge = merge && each->strides[0] == channels * each->strides[1];
      }
    }
    const int axis = channels == 1 ? 0 : 1;
    const auto plane = [&](const TensorSpec& each) { return step_along(each, axis); };
    params.outer = merge ? 1 : batch;
    params.planes = merge ? batch * channels : channels;
    params.outer_step = merge ? 0 : from_.strides[0];
    params.plane_step = plane(from_);
    params.to_outer_step = merge ? 0 : to_.strides[0];
    params.to_plane_step = plane(to_);
    if (places_ == nullptr) return;
    params.places_outer_step = merge ? 0 : places_->strides[0];
    params.places_plane_step = plane(*places_);
  }

  // Whether neighbouring planes lie together, in whole packets.
  bool packs(const TensorSpec& spec, std::int64_t count) const {
    if (params.planes % count != 0) return false;
    const bool is_from = &spec == &from_;
    const std::int64_t plane = is_from ? params.plane_step : params.to_plane_step;
    const std::int64_t outer = is_from ? params.outer_step : params.to_outer_step;
    if (plane != 1 || outer % count != 0 || (is_from && params.base % count != 0)) return false;
    return std::all_of(params.axis, params.axis + 3, [&](const PoolAxis& axis) {
      return (is_from ? axis.step : axis.to_step) % count == 0;
    });
  }

  bool is_small() const {
    // Threads beyond the last result are counted too.
    return std::max(reach_, (element_count(to_.shape) << params.lane_bits) + kThreads) <
           std::numeric_limits<std::int32_t>::max();
  }

  const Signature& signature_;
  const TensorSpec& from_;
  const TensorSpec& to_;
  const TensorSpec* places_;
  std::int64_t reach_ = 0;  // the largest number that a kernel computes
  std::int64_t planes_ = 1, most_planes_ = kMaxPlanes;
  bool packed_ = false;
};

Dims spatial_of(const TensorSpec& spec) {
  Dims extents;
  for (int i = 2; i < spec.shape.rank(); ++i) extents.push_back(spec.shape[i]);
  return extents;
}

Prepared prepare_max_pool(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  ParamReader statics(signature.statics);
  const bool is_indexed = signature.output_count() > 1;
  PoolCall pool(signature, PoolWindow(statics), spatial_of(x), false,
                is_indexed ? &signature.output_at(1) : nullptr, 0);
  pool.params.least = is_float(x.dtype) ? 0 : integer_limits(x.dtype).least;
  pool.params.places_base = 0;
  pool.choose(true, kMaxPoolPlanes);
  pool.finish();
  const char* const type = dialect_type(x.dtype);
  plan->add_step(pool.packed(), [&](bool packed, bool rare) {
    KernelCall call("pool/max_pool.metal", is_indexed ? "max_pool_indexed" : "max_pool",
                    pool.arguments({}, packed));
    call.read(type, "x", aligned(pool.read, pool.alignment(packed)))
        .write(type, "y", aligned(output_argument(signature), pool.result_alignment(packed)));
    if (is_indexed) call.write("long", "places", output_argument(signature, 1));
    return pool.step(*plan, call, packed, rare);
  });
  return prepared_steps(std::move(plan));
}

Prepared prepare_max_pool_backward(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  ParamReader statics(signature.statics);
  const Dims extents = statics.list();
  const PoolWindow window(statics);
  const bool own_indices = statics.boolean();
  PoolCall pool(signature, window, extents, true, &signature.inputs[1], 1);
  const bool has_gaps = std::any_of(pool.params.axis, pool.params.axis + 3,
                                    [](const PoolAxis& axis) { return axis.dilation > 1; });
  pool.has_packets = false;
  pool.choose(false, kMaxPoolPlanes);
  pool.finish();
  const char* const type = dialect_type(signature.output.dtype);
  KernelCall call("pool/max_pool.metal", "max_pool_backward",
                  pool.arguments({truth(has_gaps && !own_indices)}, false));
  call.read(type, "grad", pool.read)
      .read("long", "places", input_argument(signature, 1))
      .write(type, "y", output_argument(signature));
  plan->add_step(pool.step(*plan, call, false, false));
  return prepared_steps(std::move(plan));
}

Prepared prepare_resample(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const Resampling resampling{ParamReader(signature.statics)};
  PoolCall pool(signature, resampling.window, resampling.extents, resampling.adjoint, nullptr, 0);
  pool.params.flag = resampling.flag ? 1 : 0;
  pool.choose(true);
  const bool sums = resampling.rule == ResampleRule::mean || resampling.rule == ResampleRule::sum;
  if (sums && !resampling.adjoint) {
    const PoolAxis& last = pool.params.axis[2];
    pool.share(last.window != 0 ? std::min(last.window, last.extent)
                                : ceil_div(last.extent, last.positions));
  }
  pool.finish();
  const char* const type = dialect_type(signature.output.dtype);
  plan->add_step(pool.packed(), [&](bool packed, bool rare) {
    KernelCall call("pool/resample.metal", "resample",
                    pool.arguments({std::to_string(static_cast<int>(resampling.rule)),
                                    truth(resampling.adjoint)},
                                   packed));
    call.read(type, "x", aligned(pool.read, pool.alignment(packed)))
        .write(type, "y", aligned(output_argument(signature), pool.result_alignment(packed)));
    return pool.step(*plan, call, packed, rare);
  });
  return prepared_steps(std::move(plan));
}

// A grid has 32 bits of threadgroups, and results may have kSimdWidth threads.
bool fits_grid(const Signature& signature) {
  return element_count(signature.output.shape) / kThreads <
         std::numeric_limits<int>::max() / kSimdWidth;
}
// Sines are for tables that a host makes.
bool accepts_resample(const Signature& signature) {
  return Resampling(ParamReader(signature.statics)).rule != ResampleRule::lanczos &&
         fits_grid(signature);
}

constexpr Implementation kFamily[] = {
    {.name = "elements",
     .op = &defs::max_pool_op,
     .accepts = fits_grid,
     .prepare = prepare_max_pool,
     .launch = launch_steps,
     .writes_channels_last = true},
    {.name = "elements",
     .op = &defs::max_pool_with_indices_op,
     .accepts = fits_grid,
     .prepare = prepare_max_pool,
     .launch = launch_steps,
     .writes_channels_last = true},
    {.name = "elements",
     .op = &defs::max_pool_backward_op,
     .accepts = fits_grid,
     .prepare = prepare_max_pool_backward,
     .launch = launch_steps,
     .writes_channels_last = true},
    {.name = "elements",
     .op = &defs::resample_op,
     .accepts = accepts_resample,
     .prepare = prepare_resample,
     .launch = launch_steps,
     .writes_channels_last = true},
};

}  // namespace
}  // namespace pools

Family pool_family() { return pools::kFamily; }

}  // namespace hearth::gpu
