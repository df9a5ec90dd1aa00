// scatter_add of single elements sorted by bins of destinations:
// kernels/indexing/scatter_bucketed.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/indexing/scatter.h"
#include "kernels/launch/fast_divmod.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/step_plan.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

// Of kernels/indexing/scatter_bucketed.metal.
constexpr std::int64_t kSimdgroups = 8;
constexpr std::int64_t kMostBins = 512;
constexpr std::int64_t kAhead = 4;
constexpr std::int64_t kSimd = 32;
constexpr std::int64_t kSumBytes = 24 << 10;
// Elements of a thread: enough for runs of entries, few enough for a large GPU to have work
// everywhere.
constexpr std::int64_t kMostRounds = 8;
constexpr std::int64_t kManyTiles = 512;
// A thread adds up the counts of all tiles.
constexpr std::int64_t kMostTiles = 4096;

// How lines and destinations are divided.
struct Division {
  explicit Division(const Signature& signature) : axis(axis_of(signature)) {
    const Shape& indices = signature.inputs[1].shape;
    const Shape& output = signature.output.shape;
    length = indices[axis];
    extent = output[axis];
    count = element_count(indices);
    lines = length == 0 ? 0 : count / length;
    std::int64_t inner = 1;
    for (int i = axis + 1; i < output.rank(); ++i) inner *= output[i];
    together = inner == 1 ? 1 : kNeighbours;
    places = kSumBytes / sum_bytes(signature.output.dtype);
    share = places / kSimdgroups / together;
    bins = parts(extent, share);
    rounds = kAhead * std::clamp<std::int64_t>(count / (kThreads * kManyTiles * kAhead), 1,
                                               kMostRounds / kAhead);
    tiles = parts(length, kSimdgroups * rounds * (kSimd / together));
  }
  std::int64_t bundles() const { return parts(lines, together); }

  int axis;
  std::int64_t length, extent, count, lines;
  std::int64_t together;  // lines of a bundle
  std::int64_t places;    // sums of a threadgroup
  std::int64_t share;     // destinations of a bin, for each line
  std::int64_t bins, rounds, tiles;
};

bool accepts(const Signature& signature) {
  if (by_atomics(signature.output.dtype)) return false;
  const Division division(signature);
  return division.count > 0 && division.extent > 0 && division.count < kMostSummed &&
         !adds_by_thread(division.count, division.length) && division.bins <= kMostBins &&
         division.tiles <= kMostTiles && division.extent <= kSparsest * division.length &&
         division.bundles() * division.bins < kMostSummed;
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
  const char* const entry = size_of(output.dtype) == 8 ? "uint4" : "uint2";
  const char* const type_of_index = dialect_type(indices.dtype);
  const std::string together = std::to_string(division.together);
  const std::string rank = lines.rank();
  const std::int64_t bundles = division.bundles();

  auto plan = std::make_shared<StepPlan>();
  const auto add_words = [&](std::int64_t count, std::int64_t bytes_each) {
    const std::int64_t bytes = count * bytes_each;
    return StepArgument{StepArgument::From::workspace, 0, plan->add_workspace(bytes), bytes};
  };
  const std::int64_t tile_bins = bundles * division.tiles * division.bins;
  const StepArgument counts = add_words(tile_bins, 4);
  const StepArgument within = add_words(tile_bins * kSimdgroups, 2);
  const StepArgument totals = add_words(bundles * division.bins, 4);
  const StepArgument entries =
      add_words(bundles * division.together * division.length, size_of(output.dtype) == 8 ? 16 : 8);
  const StepArgument whole = strided_operand(output, 3).argument;

  const Divisor divisor = divisor_of(division.share);
  std::vector<std::int64_t> constants = {
      division.lines,  division.length,       division.extent,      division.bins,
      division.share,  divisor.magic,         divisor.shift,        division.tiles,
      division.rounds, indices.strides[axis], values.strides[axis], output.strides[axis]};
  lines.append_words(&constants);
  const auto add = [&](const char* function, const std::vector<std::string>& types,
                       std::vector<KernelParameter> parameters, Size3 groups,
                       std::vector<StepArgument> arguments, std::vector<std::int64_t> words) {
    Step step;
    step.kernel = &plan->add_kernel(library_kernel("indexing/scatter_bucketed.metal", function,
                                                   types, std::move(parameters), kThreads));
    step.groups = groups;
    step.threads = {kThreads};
    step.constants = std::move(words);
    step.arguments = std::move(arguments);
    plan->add_step(std::move(step));
  };
  const KernelParameter constant{Kind::constant, instance("BinParams", {rank}), "p"};
  const auto counters = static_cast<int>(kSimdgroups * kMostBins);
  const auto across = static_cast<std::uint32_t>(bundles);
  const Size3 tiles = {across, static_cast<std::uint32_t>(division.tiles)};
  add("bin_count", {type_of_index, together, rank},
      {{Kind::read, type_of_index, "indices"},
       {Kind::write, "uint", "counts"},
       {Kind::write, "ushort", "within"},
       constant,
       {Kind::threadgroup, "atomic_uint", "histogram", counters}},
      tiles, {lines.index.argument, counts, within, kConstants}, constants);
  add("bin_places", {},
      {{Kind::read_write, "uint", "counts"},
       {Kind::write, "uint", "totals"},
       {Kind::constant, "BinPlaceParams", "p"}},
      groups_for(bundles * division.bins), {counts, totals, kConstants},
      {bundles * division.bins, division.bins, division.tiles});
  add("bin_entries", {dtype_struct(output.dtype), type_of_index, together, rank},
      {{Kind::read, type_of_index, "indices"},
       {Kind::read, memory, "values"},
       {Kind::read, "uint", "counts"},
       {Kind::read, "ushort", "within"},
       {Kind::read, "uint", "totals"},
       {Kind::write, entry, "entries"},
       constant,
       {Kind::threadgroup, "uint", "next", counters},
       {Kind::threadgroup, "uint", "sums", static_cast<int>(kSimdgroups)}},
      tiles,
      {lines.index.argument, lines.value.argument, counts, within, totals, entries, kConstants},
      constants);
  add("bin_sums", {dtype_struct(output.dtype), sum, together, rank, truth(is_bool(output.dtype))},
      {{Kind::read, entry, "entries"},
       {Kind::read, "uint", "totals"},
       {Kind::read_write, memory, "output"},
       constant,
       {Kind::threadgroup, sum, "sums", static_cast<int>(division.places)}},
      {across, static_cast<std::uint32_t>(parts(division.bins, kSimdgroups))},
      {entries, totals, whole, kConstants}, constants);
  return prepared_steps(std::move(plan));
}

}  // namespace

void add_scatter_bin_kernels(KernelTable& table) {
  table.add({.op = &defs::scatter_add_op,
             .accepts = accepts,
             .priority = 1,
             .prepare = prepare,
             .launch = launch_steps});
}

}  // namespace hearth::gpu
