// Updates of single elements by shares of destinations:
// kernels/indexing/scatter_privatized.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/indexing/indexing.h"
#include "kernels/indexing/scatter.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {

namespace {

// Of kernels/indexing/scatter_privatized.metal.
constexpr std::int64_t kStaged = 2048;
constexpr std::int64_t kStagedGap = 8;
constexpr std::int64_t kWaiting = 64;
// Each range reads all indices of its lines.
constexpr std::int64_t kMaxRanges = 8;
// Long lines are sorted sooner where threadgroups would leave the device more than half idle.
constexpr std::int64_t kLongLine = 8192;

// How lines and destinations are divided.
struct PrivateDivision : SummedLines {
  explicit PrivateDivision(const Signature& signature) : SummedLines(signature) {
    together = signature.output.strides[axis] == 1 ? 1 : kNeighbours;
    places = sum_places(signature, 2 * staged() + 4 * kSimdgroups * kWaiting);
    ranges = std::max<std::int64_t>(ceil_div(extent, places / together), 1);
    share = ceil_div(extent, ranges * (kSimdgroups / together));
  }
  std::int64_t groups() const { return ceil_div(lines, together); }
  std::int64_t staged() const { return kStaged + kStagedGap * together; }

  std::int64_t together;  // lines of a threadgroup
  std::int64_t places;    // sums of a threadgroup, of all its lines
  std::int64_t ranges;    // threadgroups that share a line's destinations
  std::int64_t share;     // destinations of a simdgroup
};

}  // namespace

bool accepts_scatter_privatized(const Signature& signature) {
  const PrivateDivision division(signature);
  return division.are_worth_it(signature) && division.ranges <= kMaxRanges &&
         (division.length <= kLongLine ||
          division.groups() * division.ranges >= resident_groups(*signature.device, 2 * kThreads));
}

Prepared prepare_scatter_privatized(const Signature& signature) {
  const TensorSpec& indices = signature.inputs[1];
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const PrivateDivision division(signature);
  const LineAxes lines(division.axis, indices, values, output);
  const char* const memory = dialect_type(output.dtype);
  const UpdateRule rule(signature);
  auto plan = std::make_shared<StepPlan>();
  const char* const index = dialect_type(indices.dtype);
  const std::string together = std::to_string(division.together);
  const Size3 groups = {static_cast<std::uint32_t>(division.groups()),
                        static_cast<std::uint32_t>(division.ranges)};
  plan->add_step(
      KernelCall("indexing/scatter_privatized.metal", "scatter_privatized",
                 {dtype_struct(output.dtype), rule.sum, rule.name, index, together, lines.rank()})
          .read(index, "indices", lines.index.argument)
          .read(memory, "values", lines.value.argument)
          .read_write(memory, "output", output_argument(signature))
          .constants(ShareParams<kRuntimeRank>{.share = division.share, .lines = lines.params()})
          .threadgroup(rule.sum, "sums", division.places)
          .threadgroup("ushort", "staged", division.staged())
          .threadgroup("uint", "waiting", PrivateDivision::kSimdgroups * kWaiting)
          .step(*plan, groups, {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
