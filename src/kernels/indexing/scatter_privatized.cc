// scatter_add of single elements by shares of destinations:
// kernels/indexing/scatter_privatized.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/indexing/indexing.h"
#include "kernels/indexing/scatter.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {

#include "kernels/indexing/params.h"

namespace {

// Of kernels/indexing/scatter_privatized.metal.
constexpr std::int64_t kPrivateSimdgroups = 8;
constexpr std::int64_t kStaged = 2048;
constexpr std::int64_t kStagedGap = 8;
constexpr std::int64_t kWaiting = 64;
// With what is staged and what waits, this is nearly all of the 32 KB that every GPU has.
constexpr std::int64_t kPrivateBytes = 24 << 10;
// Each range reads all indices of its lines.
constexpr std::int64_t kMaxRanges = 8;
// Long lines are sorted sooner where threadgroups would leave the device more than half idle.
constexpr std::int64_t kLongLine = 8192;

// How lines and destinations are divided.
struct PrivateDivision {
  explicit PrivateDivision(const Signature& signature) : axis(axis_of(signature)) {
    const Shape& indices = signature.inputs[1].shape;
    const Shape& output = signature.output.shape;
    length = indices[axis];
    extent = output[axis];
    lines = length == 0 ? 0 : element_count(indices) / length;
    together = signature.output.strides[axis] == 1 ? 1 : kNeighbours;
    places = kPrivateBytes / sum_bytes(signature.output.dtype);
    ranges = std::max<std::int64_t>(ceil_div(extent, places / together), 1);
    share = ceil_div(extent, ranges * (kPrivateSimdgroups / together));
  }
  std::int64_t groups() const { return ceil_div(lines, together); }

  int axis;
  std::int64_t length, extent, lines;
  std::int64_t together;  // lines of a threadgroup
  std::int64_t places;    // sums of a threadgroup, of all its lines
  std::int64_t ranges;    // threadgroups that share a line's destinations
  std::int64_t share;     // destinations of a simdgroup
};

}  // namespace

bool accepts_scatter_privatized(const Signature& signature) {
  if (by_atomics(signature.output.dtype)) return false;
  const PrivateDivision division(signature);
  const std::int64_t count = division.lines * division.length;
  return count > 0 && division.extent > 0 && count < kMaxSummed &&
         !adds_by_thread(*signature.device, count, division.length) &&
         division.ranges <= kMaxRanges && division.extent <= kSparsest * division.length &&
         (division.length <= kLongLine ||
          division.groups() * division.ranges >= resident_groups(*signature.device, 2 * kThreads));
}

Prepared prepare_scatter_privatized(const Signature& signature) {
  const TensorSpec& indices = signature.inputs[1];
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const PrivateDivision division(signature);
  const int axis = division.axis;
  const ScatterAxes lines(lines_along(axis, indices.shape), indices, values, output);
  const char* const memory = dialect_type(output.dtype);
  const char* const sum = sum_type(output.dtype);
  auto plan = std::make_shared<StepPlan>();
  const char* const index = dialect_type(indices.dtype);
  const std::string together = std::to_string(division.together);
  const Size3 groups = {static_cast<std::uint32_t>(division.groups()),
                        static_cast<std::uint32_t>(division.ranges)};
  plan->add_step(KernelCall("indexing/scatter_privatized.metal", "scatter_privatized",
                            {dtype_struct(output.dtype), sum, index, together, lines.rank(),
                             truth(is_bool(output.dtype))})
                     .read(index, "indices", lines.index.argument)
                     .read(memory, "values", lines.value.argument)
                     .read_write(memory, "output", output_argument(signature))
                     .constants(ShareParams<kRuntimeRank>{.lines = division.lines,
                                                          .length = division.length,
                                                          .extent = division.extent,
                                                          .share = division.share,
                                                          .index_step = indices.strides[axis],
                                                          .value_step = values.strides[axis],
                                                          .output_step = output.strides[axis],
                                                          .indices = lines.index_axes(),
                                                          .values = lines.value_axes(),
                                                          .output = lines.output_axes()})
                     .threadgroup(sum, "sums", division.places)
                     .threadgroup("ushort", "staged", kStaged + kStagedGap * division.together)
                     .threadgroup("uint", "waiting", kPrivateSimdgroups * kWaiting)
                     .step(*plan, groups, {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
