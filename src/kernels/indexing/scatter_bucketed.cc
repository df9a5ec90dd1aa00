// scatter_add of single elements sorted by bins of destinations:
// kernels/indexing/scatter_bucketed.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/indexing/indexing.h"
#include "kernels/indexing/scatter.h"
#include "kernels/launch/fast_divmod.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {

#include "kernels/indexing/params.h"

namespace {

// Of kernels/indexing/scatter_bucketed.metal.
constexpr std::int64_t kBucketSimdgroups = 8;
constexpr std::int64_t kMaxBins = 512;
constexpr std::int64_t kAhead = 4;
constexpr std::int64_t kBucketSimd = 32;
constexpr std::int64_t kBucketBytes = 24 << 10;
// Elements of a thread: enough for runs of entries, few enough for half of the threads that a
// device runs to have some.
constexpr std::int64_t kMaxBucketRounds = 8;
// A thread adds up the counts of all tiles.
constexpr std::int64_t kMaxTiles = 4096;

// How lines and destinations are divided.
struct BucketDivision {
  explicit BucketDivision(const Signature& signature) : axis(axis_of(signature)) {
    const Shape& indices = signature.inputs[1].shape;
    const Shape& output = signature.output.shape;
    length = indices[axis];
    extent = output[axis];
    count = element_count(indices);
    lines = length == 0 ? 0 : count / length;
    std::int64_t inner = 1;
    for (int i = axis + 1; i < output.rank(); ++i) inner *= output[i];
    together = inner == 1 ? 1 : kNeighbours;
    places = kBucketBytes / sum_bytes(signature.output.dtype);
    share = places / kBucketSimdgroups / together;
    bins = ceil_div(extent, share);
    const std::int64_t threads = resident_groups(*signature.device, 2);
    rounds =
        kAhead * std::clamp<std::int64_t>(count / (threads * kAhead), 1, kMaxBucketRounds / kAhead);
    tiles = ceil_div(length, kBucketSimdgroups * rounds * (kBucketSimd / together));
  }
  std::int64_t bundles() const { return ceil_div(lines, together); }

  int axis;
  std::int64_t length, extent, count, lines;
  std::int64_t together;  // lines of a bundle
  std::int64_t places;    // sums of a threadgroup
  std::int64_t share;     // destinations of a bin, for each line
  std::int64_t bins, rounds, tiles;
};

}  // namespace

bool accepts_scatter_bucketed(const Signature& signature) {
  if (by_atomics(signature.output.dtype)) return false;
  const BucketDivision division(signature);
  return division.count > 0 && division.extent > 0 && division.count < kMaxSummed &&
         !adds_by_thread(*signature.device, division.count, division.length) &&
         division.bins <= kMaxBins && division.tiles <= kMaxTiles &&
         division.extent <= kSparsest * division.length &&
         division.bundles() * division.bins < kMaxSummed;
}

Prepared prepare_scatter_bucketed(const Signature& signature) {
  const TensorSpec& indices = signature.inputs[1];
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const BucketDivision division(signature);
  const int axis = division.axis;
  const ScatterAxes lines(lines_along(axis, indices.shape), indices, values, output);
  const char* const memory = dialect_type(output.dtype);
  const char* const sum = sum_type(output.dtype);
  const char* const entry = size_of(output.dtype) == 8 ? "uint4" : "uint2";
  const char* const type_of_index = dialect_type(indices.dtype);
  const std::string together = std::to_string(division.together);
  const std::string rank = lines.rank();
  const std::int64_t bundles = division.bundles();

  auto plan = std::make_shared<StepPlan>();
  const std::int64_t tile_bins = bundles * division.tiles * division.bins;
  const StepArgument counts = workspace(*plan, tile_bins * 4);
  const StepArgument within = workspace(*plan, tile_bins * kBucketSimdgroups * 2);
  const StepArgument totals = workspace(*plan, bundles * division.bins * 4);
  const StepArgument entries = workspace(
      *plan, bundles * division.together * division.length * (size_of(output.dtype) == 8 ? 16 : 8));

  const FastDivmod divisor = fast_divmod(division.share);
  const BinParams<kRuntimeRank> params{.lines = division.lines,
                                       .length = division.length,
                                       .extent = division.extent,
                                       .bins = division.bins,
                                       .share = division.share,
                                       .magic = divisor.magic,
                                       .shift = divisor.shift,
                                       .tiles = division.tiles,
                                       .rounds = division.rounds,
                                       .index_step = indices.strides[axis],
                                       .value_step = values.strides[axis],
                                       .output_step = output.strides[axis],
                                       .indices = lines.index_axes(),
                                       .values = lines.value_axes(),
                                       .output = lines.output_axes()};
  constexpr char kFile[] = "indexing/scatter_bucketed.metal";
  const auto add = [&](const KernelCall& call, Size3 groups) {
    plan->add_step(call.step(*plan, groups, {kThreads}, kThreads));
  };
  constexpr std::int64_t kCounters = kBucketSimdgroups * kMaxBins;
  const auto across = static_cast<std::uint32_t>(bundles);
  const Size3 tiles = {across, static_cast<std::uint32_t>(division.tiles)};
  add(KernelCall(kFile, "bin_count", {type_of_index, together, rank})
          .read(type_of_index, "indices", lines.index.argument)
          .write("uint", "counts", counts)
          .write("ushort", "within", within)
          .constants(params)
          .threadgroup("atomic_uint", "histogram", kCounters),
      tiles);
  add(KernelCall(kFile, "bin_places")
          .read_write("uint", "counts", counts)
          .write("uint", "totals", totals)
          .constants(BinPlaceParams{
              .count = bundles * division.bins, .bins = division.bins, .tiles = division.tiles}),
      groups_for(bundles * division.bins));
  add(KernelCall(kFile, "bin_entries", {dtype_struct(output.dtype), type_of_index, together, rank})
          .read(type_of_index, "indices", lines.index.argument)
          .read(memory, "values", lines.value.argument)
          .read("uint", "counts", counts)
          .read("ushort", "within", within)
          .read("uint", "totals", totals)
          .write(entry, "entries", entries)
          .constants(params)
          .threadgroup("uint", "next", kCounters)
          .threadgroup("uint", "sums", kBucketSimdgroups),
      tiles);
  add(KernelCall(kFile, "bin_sums",
                 {dtype_struct(output.dtype), sum, together, rank, truth(is_bool(output.dtype))})
          .read(entry, "entries", entries)
          .read("uint", "totals", totals)
          .read_write(memory, "output", output_argument(signature))
          .constants(params)
          .threadgroup(sum, "sums", division.places),
      {across, static_cast<std::uint32_t>(ceil_div(division.bins, kBucketSimdgroups))});
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
