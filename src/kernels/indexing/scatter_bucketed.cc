// Updates of single elements sorted by buckets of destinations, which are called bins:
// kernels/indexing/scatter_bucketed.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/indexing/indexing.h"
#include "kernels/indexing/scatter.h"
#include "kernels/launch/divisor.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {

namespace {

// Of kernels/indexing/scatter_bucketed.metal.
constexpr std::int64_t kMaxBins = 512;
constexpr std::int64_t kAhead = 4;
// Beside sums: room for other threadgroups, which hide what one waits for.
constexpr std::int64_t kOthersBytes = 8 << 10;
// Elements of a thread: enough for runs of entries, few enough for half of the threads that a
// device runs to have some.
constexpr std::int64_t kMaxBucketRounds = 8;
// A thread adds up the counts of all tiles.
constexpr std::int64_t kMaxTiles = 4096;

// How lines and destinations are divided.
struct BucketDivision : SummedLines {
  explicit BucketDivision(const Signature& signature) : SummedLines(signature) {
    const Shape& output = signature.output.shape;
    std::int64_t inner = 1;
    for (int i = axis + 1; i < output.rank(); ++i) inner *= output[i];
    together = inner == 1 ? 1 : kNeighbours;
    places = sum_places(signature, kOthersBytes);
    share = places / kSimdgroups / together;
    bins = ceil_div(extent, share);
    const std::int64_t threads = resident_groups(*signature.device, 2);
    rounds =
        kAhead * std::clamp<std::int64_t>(count / (threads * kAhead), 1, kMaxBucketRounds / kAhead);
    tiles = ceil_div(length, kSimdgroups * rounds * (kSimdWidth / together));
  }
  std::int64_t bundles() const { return ceil_div(lines, together); }

  std::int64_t together;  // lines of a bundle
  std::int64_t places;    // sums of a threadgroup
  std::int64_t share;     // destinations of a bin, for each line
  std::int64_t bins, rounds, tiles;
};

}  // namespace

bool accepts_scatter_bucketed(const Signature& signature) {
  const BucketDivision division(signature);
  return division.are_worth_it(signature) && division.bins <= kMaxBins &&
         division.tiles <= kMaxTiles && division.bundles() * division.bins < kMaxSummed;
}

Prepared prepare_scatter_bucketed(const Signature& signature) {
  const TensorSpec& indices = signature.inputs[1];
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const BucketDivision division(signature);
  constexpr std::int64_t kSimdgroups = BucketDivision::kSimdgroups;
  const LineAxes lines(division.axis, indices, values, output);
  const char* const memory = dialect_type(output.dtype);
  const UpdateRule rule(signature);
  const char* const entry = size_of(output.dtype) == 8 ? "uint4" : "uint2";
  const char* const type_of_index = dialect_type(indices.dtype);
  const std::string together = std::to_string(division.together);
  const std::string rank = lines.rank();
  const std::int64_t bundles = division.bundles();

  auto plan = std::make_shared<StepPlan>();
  const std::int64_t tile_bins = bundles * division.tiles * division.bins;
  const StepArgument counts = workspace(*plan, tile_bins * 4);
  const StepArgument within = workspace(*plan, tile_bins * kSimdgroups * 2);
  const StepArgument totals = workspace(*plan, bundles * division.bins * 4);
  const StepArgument entries = workspace(
      *plan, bundles * division.together * division.length * (size_of(output.dtype) == 8 ? 16 : 8));

  const BinParams<kRuntimeRank> params{.bins = division.bins,
                                       .share = divisor(division.share),
                                       .tiles = division.tiles,
                                       .rounds = division.rounds,
                                       .lines = lines.params()};
  constexpr char kText[] = "indexing/scatter_bucketed.metal";
  const auto add = [&](const KernelCall& call, Size3 groups) {
    plan->add_step(call.step(*plan, groups, {kThreads}, kThreads));
  };
  constexpr std::int64_t kCounters = kSimdgroups * kMaxBins;
  const auto across = static_cast<std::uint32_t>(bundles);
  const Size3 tiles = {across, static_cast<std::uint32_t>(division.tiles)};
  add(KernelCall(kText, "bin_count", {type_of_index, together, rank})
          .read(type_of_index, "indices", lines.index.argument)
          .write("uint", "counts", counts)
          .write("ushort", "within", within)
          .constants(params)
          .threadgroup("atomic_uint", "histogram", kCounters),
      tiles);
  add(KernelCall(kText, "bin_places")
          .read_write("uint", "counts", counts)
          .write("uint", "totals", totals)
          .constants(BinPlaceParams{
              .count = bundles * division.bins, .bins = division.bins, .tiles = division.tiles}),
      groups_for(bundles * division.bins));
  add(KernelCall(kText, "bin_entries", {dtype_struct(output.dtype), type_of_index, together, rank})
          .read(type_of_index, "indices", lines.index.argument)
          .read(memory, "values", lines.value.argument)
          .read("uint", "counts", counts)
          .read("ushort", "within", within)
          .read("uint", "totals", totals)
          .write(entry, "entries", entries)
          .constants(params)
          .threadgroup("uint", "next", kCounters)
          .threadgroup("uint", "sums", kSimdgroups),
      tiles);
  add(KernelCall(kText, "bin_sums",
                 {dtype_struct(output.dtype), rule.sum, rule.name, together, rank})
          .read(entry, "entries", entries)
          .read("uint", "totals", totals)
          .read_write(memory, "output", output_argument(signature))
          .constants(params)
          .threadgroup(rule.sum, "sums", division.places),
      {across, static_cast<std::uint32_t>(ceil_div(division.bins, kSimdgroups))});
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
