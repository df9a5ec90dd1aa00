#include "kernels/sort/topk.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/dialect_types.h"
#include "core/integer_math.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/sort/search.h"

namespace hearth::gpu {
namespace {

// Keys that a threadgroup sorts together: more are sorted by whole lines.
constexpr std::int64_t kMaxKept = 256;
constexpr std::int64_t kLeastTopkThreads = 64, kMostTopkThreads = 512;
constexpr std::int64_t kElementsOfThread = 16;
// What a threadgroup reads is read again, and should be in a cache then; of each part there are far
// fewer results than elements.
constexpr std::int64_t kMinPart = 1024, kMaxPart = 16384, kElementsOfResult = 16;
// Room for what is collected, with least keys of few threads, and of many.
constexpr std::int64_t kFewGroups = 64, kRoom = 256, kLargeRoom = 1024;
// Positions have 32 bits.
constexpr std::int64_t kLongestRow = std::int64_t{1} << 31;

// A stage from rows of `length` elements to rows of the results of their parts.
struct Stage {
  Stage(const runtime::DeviceTraits& device, std::int64_t rows, std::int64_t length, std::int64_t k,
        KeyOrder order) {
    const std::int64_t least = std::max(kMinPart, kElementsOfResult * k);
    std::int64_t part = std::clamp(ceil_div(rows * length, resident_groups(device, kThreads)),
                                   least, std::max(least, kMaxPart));
    const std::int64_t parts = length <= 2 * part ? 1 : ceil_div(length, part);
    part = ceil_div(length, parts);
    const std::int64_t together = std::max<std::int64_t>(ceil_power_of_two(2 * k), kSimdWidth);
    threads = std::clamp(floor_power_of_two(part / kElementsOfThread), kLeastTopkThreads,
                         kMostTopkThreads);
    threads = std::max(threads, together);
    room = together <= kFewGroups ? kRoom : kLargeRoom;
    params = {.order = order,
              .length = length,
              .parts = parts,
              .part = part,
              .k = k,
              .shared = std::min(threads / together, kSimdWidth)};
    groups = rows * parts;
  }
  void add(StepPlan& plan, KernelCall call, const std::string& key) const {
    plan.add_step(call.threadgroup(key, "keys", room)
                      .threadgroup("uint", "places", room)
                      .threadgroup("atomic_uint", "counters", kTopkCounters)
                      .threadgroup("uint", "sums", kMostTopkThreads / kSimdWidth)
                      .step(plan, {static_cast<std::uint32_t>(groups)},
                            {static_cast<std::uint32_t>(threads)}, kMostTopkThreads));
  }

  LeastParams params{};
  std::int64_t threads, room, groups;
};

}  // namespace

bool accepts_topk(const Signature& signature) {
  const TensorSpec& input = signature.inputs[0];
  const std::int64_t k = ParamReader(signature.statics).i64();
  const std::int64_t length = input.shape.back();
  return k <= kMaxKept && length >= 2 * k && length >= kLeastTopkThreads && length < kLongestRow;
}

Prepared prepare_topk(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& input = signature.inputs[0];
  const bool has_values = !signature.output_at(0).absent;
  const bool has_indices = !signature.output_at(1).absent;
  const std::int64_t k = ParamReader(signature.statics).i64();
  const int last = input.shape.rank() - 1;
  if (last < 0 || !(has_values || has_indices)) return prepared_steps(std::move(plan));
  const std::int64_t length = input.shape[last];
  Shape shape = input.shape;
  Strides strides = input.strides;
  shape[last] = 1;
  strides[last] = 0;
  const std::int64_t rows = element_count(shape), count = rows * k;
  if (count == 0) return prepared_steps(std::move(plan));
  merge_kernel_axes(&shape, {&strides});
  const StridedOperand x = strided_operand(input, 0);
  const std::string rank = std::to_string(shape.rank());
  const std::string memory = unsigned_type(size_of(input.dtype));
  const std::int64_t key_bytes = size_of(input.dtype) == 8 ? 8 : 4;
  const std::string key = key_bytes == 8 ? "ulong" : "uint";
  const Axes<kRuntimeRank> axes = {x.base, &shape, &strides};

  const auto add_results = [&](std::int64_t results) {
    const StepArgument least = workspace(*plan, results * key_bytes);
    return std::pair{least, workspace(*plan, results * 4)};
  };
  const Stage first(*signature.device, rows, length, k, key_order(input.dtype, true));
  auto [least, from] = add_results(first.groups * k);
  first.add(*plan,
            KernelCall("sort/topk.metal", "topk_elements",
                       {memory, key, std::to_string(first.room),
                        std::to_string(first.params.order.form), rank})
                .read(memory, "x", x.argument)
                .write(key, "least", least)
                .write("uint", "from", from)
                .constants(RowLeastParams<kRuntimeRank>{.least = first.params, .x = axes}),
            key);
  for (std::int64_t parts = first.params.parts; parts > 1;) {
    const Stage next(*signature.device, rows, parts * k, k,
                     {.form = kSortIntegers, .infinity = 0, .flip = 0});
    const auto [next_least, next_from] = add_results(next.groups * k);
    next.add(*plan,
             KernelCall("sort/topk.metal", "topk_parts", {key, std::to_string(next.room)})
                 .read(key, "x", least)
                 .read("uint", "x_from", from)
                 .write(key, "least", next_least)
                 .write("uint", "from", next_from)
                 .constants(next.params),
             key);
    least = next_least;
    from = next_from;
    parts = next.params.parts;
  }

  const std::string index = dialect_type(signature.output_at(1).dtype);
  std::vector<std::string> types = {memory};
  if (has_indices) types.push_back(index);
  types.push_back(rank);
  KernelCall call("sort/topk.metal",
                  std::string("topk_pick") + results_suffix(has_values, has_indices), types);
  call.read(memory, "x", x.argument).read("uint", "from", from);
  if (has_values) call.write(memory, "values", output_argument(signature, 0));
  if (has_indices) call.write(index, "indices", output_argument(signature, 1));
  plan->add_step(call.constants(RowPickParams<kRuntimeRank>{.count = count, .k = k, .x = axes})
                     .step(*plan, groups_for(count), {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
