// bincount: kernels/counting/bincount.metal. nonzero_static: nonzero_static.metal.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/counting/params.h"

namespace {

// Of a threadgroup that counts, and elements of a thread at least.
constexpr std::int64_t kCounterThreads = 512, kCountedEach = 16;
// Counters and positions of parts have 32 bits.
constexpr std::int64_t kMaxCounted = std::int64_t{1} << 32;
constexpr std::int64_t kPlacesEach = 16;  // of write_places()

std::int64_t length_of(const Signature& signature) { return ParamReader(signature.statics).i64(); }

bool accepts_counting(const Signature& signature) {
  return element_count(signature.inputs[0].shape) < kMaxCounted;
}
// What every device has room for.
bool accepts_threadgroups(const Signature& signature) {
  return accepts_counting(signature) &&
         length_of(signature) * 4 <= runtime::common_traits().threadgroup_memory;
}

KernelCall counting_call(const std::string& function,
                         const std::vector<std::string>& arguments = {}) {
  return {"counting/bincount.metal", function, arguments};
}

Prepared prepare_threadgroups(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t length = length_of(signature);
  if (length == 0) return prepared_steps(std::move(plan));
  const std::int64_t count = element_count(signature.inputs[0].shape);
  const std::int64_t parts =
      std::clamp<std::int64_t>(count / std::max(kCounterThreads * kCountedEach, length), 1,
                               resident_groups(*signature.device, kCounterThreads));
  const CountParams params = {.count = count, .length = length, .parts = parts};
  const std::string type = dialect_type(signature.inputs[0].dtype);
  const StepArgument counts = workspace(*plan, parts * length * 4);
  plan->add_step(
      counting_call("count_in_threadgroups", {type})
          .read(type, "x", input_argument(signature, 0))
          .write("uint", "counts", counts)
          .constants(params)
          .threadgroup("atomic_uint", "counters", runtime::common_traits().threadgroup_memory / 4)
          .step(*plan, {static_cast<std::uint32_t>(parts)}, {kCounterThreads}, kCounterThreads));
  plan->add_step(counting_call("add_counts")
                     .read("uint", "counts", counts)
                     .write("long", "out", output_argument(signature))
                     .constants(params)
                     .threadgroup("uint", "sums", kThreads)
                     .step(*plan, {static_cast<std::uint32_t>(ceil_div(length, kSimdWidth))},
                           {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

Prepared prepare_memory(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t length = length_of(signature);
  const std::int64_t count = element_count(signature.inputs[0].shape);
  const CountParams params = {.count = count, .length = length, .parts = 1};
  const std::string type = dialect_type(signature.inputs[0].dtype);
  const StepArgument counts = workspace(*plan, length * 4);
  plan->add_step(counting_call("clear_counts")
                     .write("uint", "counts", counts)
                     .constants(params)
                     .step(*plan, groups_for(length), {kThreads}, kThreads));
  if (count > 0) {
    plan->add_step(counting_call("count_in_memory", {type})
                       .read(type, "x", input_argument(signature, 0))
                       .read_write("atomic_uint", "counts", counts)
                       .constants(params)
                       .step(*plan, groups_for(count), {kThreads}, kThreads));
  }
  plan->add_step(counting_call("store_counts")
                     .read("uint", "counts", counts)
                     .write("long", "out", output_argument(signature))
                     .constants(params)
                     .step(*plan, groups_for(length), {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

Prepared prepare_places(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t count = length_of(signature);
  if (count == 0) return prepared_steps(std::move(plan));
  const std::int64_t size = signature.inputs[0].shape[0];
  const std::int64_t tiles = ceil_div(size, kThreads * kPlacesEach);
  const PlacesParams params = {.size = size, .tiles = tiles, .count = count};
  const StepArgument counts = workspace(*plan, tiles * 4), before = workspace(*plan, tiles * 8);
  const StepArgument row = input_argument(signature, 0);
  constexpr std::int64_t kSums = kThreads / kSimdWidth;
  const auto call = [](const char* function, bool wide) {
    return KernelCall("counting/nonzero_static.metal", function, {truth(wide)});
  };
  const auto finish = [&](const KernelCall& made, std::int64_t groups, bool rare) {
    return made.step(*plan, {static_cast<std::uint32_t>(groups)}, {kThreads}, kThreads, rare);
  };
  plan->add_step(true, [&](bool wide, bool rare) {
    return finish(call("count_places", wide)
                      .read("uchar", "chosen", aligned(row, wide ? kPlacesEach : 1))
                      .write("uint", "counts", counts)
                      .constants(params)
                      .threadgroup("uint", "sums", kSums),
                  tiles, rare);
  });
  plan->add_step(finish(KernelCall("counting/nonzero_static.metal", "scan_places")
                            .read("uint", "counts", counts)
                            .write("ulong", "before", before)
                            .constants(params)
                            .threadgroup("uint", "sums", kSums),
                        1, false));
  plan->add_step(true, [&](bool wide, bool rare) {
    return finish(call("write_places", wide)
                      .read("uchar", "chosen", aligned(row, wide ? kPlacesEach : 1))
                      .read("ulong", "before", before)
                      .write("long", "places", output_argument(signature))
                      .constants(params)
                      .threadgroup("ushort", "staged", kThreads * kPlacesEach)
                      .threadgroup("uint", "sums", kSums),
                  tiles, rare);
  });
  return prepared_steps(std::move(plan));
}

constexpr Implementation kCountingFamily[] = {
    {.name = "threadgroups",
     .op = &defs::bincount_op,
     .accepts = accepts_threadgroups,
     .layout = LayoutNeed::dense,
     .prepare = prepare_threadgroups,
     .launch = launch_steps},
    {.name = "memory",
     .op = &defs::bincount_op,
     .accepts = accepts_counting,
     .layout = LayoutNeed::dense,
     .prepare = prepare_memory,
     .launch = launch_steps},
    {.name = "tiles",
     .op = &defs::nonzero_static_op,
     .layout = LayoutNeed::dense,
     .prepare = prepare_places,
     .launch = launch_steps},
};

}  // namespace

Family counting_family() { return kCountingFamily; }

}  // namespace hearth::gpu
