// scatter_add of single elements by shares of destinations:
// kernels/indexing/scatter_privatized.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/indexing/scatter.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/step_plan.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

// Of kernels/indexing/scatter_privatized.metal.
constexpr std::int64_t kSimdgroups = 8;
constexpr std::int64_t kStaged = 2048;
constexpr std::int64_t kStagedGap = 8;
constexpr std::int64_t kWaiting = 64;
// With what is staged and what waits, this is nearly all of the 32 KB that every GPU has.
constexpr std::int64_t kSumBytes = 24 << 10;
// Each range reads all indices of its lines.
constexpr std::int64_t kMostRanges = 8;
// Threadgroups that keep a GPU busy; with fewer, long lines are sorted sooner.
constexpr std::int64_t kManyGroups = 512;
constexpr std::int64_t kLongLine = 8192;

// How lines and destinations are divided.
struct Division {
  explicit Division(const Signature& signature) : axis(axis_of(signature)) {
    const Shape& indices = signature.inputs[1].shape;
    const Shape& output = signature.output.shape;
    length = indices[axis];
    extent = output[axis];
    lines = length == 0 ? 0 : element_count(indices) / length;
    together = signature.output.strides[axis] == 1 ? 1 : kNeighbours;
    places = kSumBytes / sum_bytes(signature.output.dtype);
    ranges = std::max<std::int64_t>(parts(extent, places / together), 1);
    share = parts(extent, ranges * (kSimdgroups / together));
  }
  std::int64_t groups() const { return parts(lines, together); }

  int axis;
  std::int64_t length, extent, lines;
  std::int64_t together;  // lines of a threadgroup
  std::int64_t places;    // sums of a threadgroup, of all its lines
  std::int64_t ranges;    // threadgroups that share a line's destinations
  std::int64_t share;     // destinations of a simdgroup
};

bool accepts(const Signature& signature) {
  if (by_atomics(signature.output.dtype)) return false;
  const Division division(signature);
  const std::int64_t count = division.lines * division.length;
  return count > 0 && division.extent > 0 && count < kMostSummed &&
         !adds_by_thread(count, division.length) && division.ranges <= kMostRanges &&
         division.extent <= kSparsest * division.length &&
         (division.length <= kLongLine || division.groups() * division.ranges >= kManyGroups);
}

Prepared prepare(const Signature& signature) {
  const TensorSpec& indices = signature.inputs[1];
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const Division division(signature);
  const int axis = division.axis;
  const ScatterAxes lines(lines_along(axis, indices.shape), indices, values, output);
  const char* const memory = dialect_type(output.dtype);
  const char* const sum = sum_type(output.dtype);
  auto plan = std::make_shared<StepPlan>();
  Step step;
  step.kernel = &plan->add_kernel(library_kernel(
      "indexing/scatter_privatized.metal", "scatter_shares",
      {dtype_struct(output.dtype), sum, dialect_type(indices.dtype),
       std::to_string(division.together), lines.rank(), truth(is_bool(output.dtype))},
      {{Kind::read, dialect_type(indices.dtype), "indices"},
       {Kind::read, memory, "values"},
       {Kind::read_write, memory, "output"},
       {Kind::constant, instance("ShareParams", {lines.rank()}), "p"},
       {Kind::threadgroup, sum, "sums", static_cast<int>(division.places)},
       {Kind::threadgroup, "ushort", "staged",
        static_cast<int>(kStaged + kStagedGap * division.together)},
       {Kind::threadgroup, "uint", "waiting", static_cast<int>(kSimdgroups * kWaiting)}},
      kThreads));
  step.groups = {static_cast<std::uint32_t>(division.groups()),
                 static_cast<std::uint32_t>(division.ranges)};
  step.threads = {kThreads};
  step.constants = {division.lines,      division.length,       division.extent,
                    division.share,      indices.strides[axis], values.strides[axis],
                    output.strides[axis]};
  lines.append_words(&step.constants);
  step.arguments = {lines.index.argument, lines.value.argument, strided_operand(output, 3).argument,
                    kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

}  // namespace

void add_scatter_share_kernels(KernelTable& table) {
  table.add({.op = &defs::scatter_add_op,
             .accepts = accepts,
             .priority = 2,
             .prepare = prepare,
             .launch = launch_steps});
}

}  // namespace hearth::gpu
