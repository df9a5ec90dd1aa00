#include "kernels/sort/radix_sort.h"

#include <algorithm>
#include <utility>

namespace hearth::gpu {
namespace {

constexpr std::int64_t kDigits = 256;
constexpr int kDigitBits = 8;
constexpr std::int64_t kSimdgroups = kDigits / 32;
// Keys of a thread: few enough for a large GPU to have work everywhere.
constexpr std::int64_t kMostRounds = 16;
constexpr std::int64_t kManyTiles = 512;

StepArgument add_words(StepPlan& plan, std::int64_t count) {
  const auto bytes = count * static_cast<std::int64_t>(sizeof(std::uint32_t));
  return {StepArgument::From::workspace, 0, plan.add_workspace(bytes), bytes};
}

KernelParameter words(Kind kind, const char* name) { return {kind, "uint", name}; }

}  // namespace

SortedPairs add_pairs(StepPlan& plan, std::int64_t count) {
  const StepArgument keys = add_words(plan, count);
  return {keys, add_words(plan, count)};
}

SortedPairs add_radix_sort(StepPlan& plan, const SortedPairs& pairs, std::int64_t count, int bits) {
  const std::int64_t rounds =
      std::clamp<std::int64_t>(count / (kDigits * kManyTiles), 1, kMostRounds);
  const std::int64_t tiles = parts(count, kDigits * rounds);
  const StepArgument counts = add_words(plan, kDigits * tiles);
  const StepArgument totals = add_words(plan, kDigits);
  const KernelParameter constants{Kind::constant, "SortParams", "p"};
  const KernelParameter sums{Kind::threadgroup, "uint", "sums", kSimdgroups};
  const auto kernel = [&](const char* function, std::vector<KernelParameter> parameters) {
    return &plan.add_kernel({function, "#include \"kernels/sort/radix_sort.metal\"\n", function,
                             std::move(parameters), kDigits});
  };
  const auto* const count_kernel =
      kernel("sort_count", {words(Kind::read, "keys"),
                            words(Kind::write, "counts"),
                            constants,
                            {Kind::threadgroup, "atomic_uint", "histogram", kDigits}});
  const auto* const scan_kernel =
      kernel("sort_scan",
             {words(Kind::read_write, "counts"), words(Kind::write, "totals"), constants, sums});
  const auto* const place_kernel =
      kernel("sort_place", {words(Kind::read, "keys"),
                            words(Kind::read, "values"),
                            words(Kind::read, "counts"),
                            words(Kind::read, "totals"),
                            words(Kind::write, "keys_out"),
                            words(Kind::write, "values_out"),
                            constants,
                            {Kind::threadgroup, "uint", "places", kDigits * kSimdgroups},
                            sums});

  SortedPairs from = pairs;
  SortedPairs to = bits > 0 ? add_pairs(plan, count) : pairs;
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    const std::vector<std::int64_t> params = {count, shift, rounds, tiles};
    const auto launch = [&](const runtime::LazyKernel* what, std::int64_t groups,
                            std::vector<StepArgument> arguments) {
      Step step;
      step.kernel = what;
      step.groups = {static_cast<std::uint32_t>(groups)};
      step.threads = {static_cast<std::uint32_t>(kDigits)};
      step.constants = params;
      step.arguments = std::move(arguments);
      plan.add_step(std::move(step));
    };
    launch(count_kernel, tiles, {from.keys, counts, kConstants});
    launch(scan_kernel, kDigits, {counts, totals, kConstants});
    launch(place_kernel, tiles,
           {from.keys, from.values, counts, totals, to.keys, to.values, kConstants});
    std::swap(from, to);
  }
  return from;
}

}  // namespace hearth::gpu
