#include "kernels/sort/radix_sort.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {

#include "kernels/sort/params.h"

namespace {

constexpr std::int64_t kDigits = 256;
constexpr int kDigitBits = 8;
constexpr std::int64_t kSortSimdgroups = kDigits / kSimdWidth;
// Keys of a thread: few enough for half of the threads that a device runs to have some.
constexpr std::int64_t kSortRounds[] = {1, 4, 12};

StepArgument add_words(StepPlan& plan, std::int64_t count) {
  return workspace(plan, count * static_cast<std::int64_t>(sizeof(std::uint32_t)));
}

KernelCall sort_call(const std::string& function, const std::vector<std::string>& arguments = {}) {
  return {"sort/radix_sort.metal", function, arguments};
}

}  // namespace

SortedPairs add_pairs(StepPlan& plan, std::int64_t count) {
  const StepArgument keys = add_words(plan, count);
  return {keys, add_words(plan, count)};
}

SortedPairs add_radix_sort(StepPlan& plan, const runtime::DeviceTraits& device,
                           const SortedPairs& pairs, std::int64_t count, int bits) {
  SortedPairs from = pairs;
  SortedPairs to = bits > 0 ? add_pairs(plan, count) : pairs;
  add_radix_sort(plan, device, from, to, count, bits);
  return from;
}

void add_radix_sort(StepPlan& plan, const runtime::DeviceTraits& device, SortedPairs& from,
                    SortedPairs& to, std::int64_t count, int bits) {
  const std::int64_t threads = std::max<std::int64_t>(resident_threads(device) / 2, 1);
  std::int64_t rounds = kSortRounds[0];
  for (const std::int64_t each : kSortRounds) {
    if (each <= count / threads) rounds = each;
  }
  const std::int64_t tiles = ceil_div(count, kDigits * rounds);
  const StepArgument counts = add_words(plan, kDigits * tiles);
  const StepArgument totals = add_words(plan, kDigits);
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    const SortParams params{.count = count, .shift = shift, .rounds = rounds, .tiles = tiles};
    const auto add = [&](const KernelCall& call, std::int64_t groups) {
      plan.add_step(call.step(plan, {static_cast<std::uint32_t>(groups)}, {kDigits}, kDigits));
    };
    add(sort_call("sort_count")
            .read("uint", "keys", from.keys)
            .write("uint", "counts", counts)
            .constants(params)
            .threadgroup("atomic_uint", "histogram", kDigits),
        tiles);
    add(sort_call("sort_scan")
            .read_write("uint", "counts", counts)
            .write("uint", "totals", totals)
            .constants(params)
            .threadgroup("uint", "sums", kSortSimdgroups),
        kDigits);
    add(sort_call("sort_place", {std::to_string(rounds)})
            .read("uint", "keys", from.keys)
            .read("uint", "values", from.values)
            .read("uint", "counts", counts)
            .read("uint", "totals", totals)
            .write("uint", "keys_out", to.keys)
            .write("uint", "values_out", to.values)
            .constants(params)
            .threadgroup("uint", "places", kDigits * kSortSimdgroups)
            .threadgroup("uint", "staged", kDigits * rounds)
            .threadgroup("uint", "shifts", kDigits)
            .threadgroup("uint", "sums", kSortSimdgroups),
        tiles);
    std::swap(from, to);
  }
}

}  // namespace hearth::gpu
