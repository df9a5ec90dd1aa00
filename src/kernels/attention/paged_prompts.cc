// paged_attention of tiles by tensor cores: kernels/attention/paged_prompts.metal.
#include <algorithm>
#include <limits>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/attention/paged_parts.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kPromptSimdgroups = kPromptThreads / kSimdWidth;
constexpr std::int64_t kMostPromptColumns = 256;
constexpr std::int64_t kMostPromptHeads = 8;  // of a tile

// What a threadgroup makes at a time, as far as the sums of its rows stay in registers.
struct PromptSizes {
  std::int64_t columns, row_tiles, keys;

  // What is not copied as it lies takes registers, too.
  PromptSizes(std::int64_t d, std::int64_t dv, bool is_copied) {
    const std::int64_t all = std::max(d, dv);
    columns = all <= 64 ? 64 : all <= 96 ? 96 : all <= 128 ? 128 : all <= 192 ? 192 : 256;
    row_tiles = columns <= 128 ? 2 : 1;
    keys = columns > 64 || !is_copied ? 32 : 64;
  }
  std::int64_t rows() const { return kPromptSimdgroups * kPromptRows * row_tiles; }
  std::int64_t row_vectors() const { return ceil_div<std::int64_t>(columns, 64) * 8; }
  std::int64_t query_vectors() const { return rows() * row_vectors(); }
  std::int64_t stage_vectors() const { return kPromptStages * 2 * keys * row_vectors(); }
  std::int64_t slots() const { return kPromptSlots * keys; }
  std::int64_t bytes() const {
    return (query_vectors() + stage_vectors()) * kPacketBytes + slots() * size_of(DType::i32);
  }
  // Heads of a group that share a tile: they divide it.
  static std::int64_t heads(std::int64_t group) {
    std::int64_t heads = 1;
    while (heads < kMostPromptHeads && group % (2 * heads) == 0) heads *= 2;
    return heads;
  }
};

}  // namespace

std::int64_t prompt_tile(const Signature& signature) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const Shape& q = signature.inputs[paged::kQ].shape;
  const TensorSpec &keys = signature.inputs[paged::kKeys],
                   &values = signature.inputs[paged::kValues];
  const std::int64_t dv = signature.output.shape[2];
  const runtime::DeviceTraits& device = *signature.device;
  if (std::max(q[2], dv) > kMostPromptColumns) return 0;
  const PromptSizes sizes(q[2], dv, true);
  const std::int64_t memory = std::max(device.threadgroup_memory, device.large_threadgroup_memory);
  const std::int64_t tile = sizes.rows() / PromptSizes::heads(q[1] / keys.shape[1]);
  const std::int64_t sequences = signature.inputs[paged::kPages].shape[0];
  const bool fits = sizes.bytes() <= memory &&
                    std::max(keys.strides[0], values.strides[0]) <= kMost &&
                    std::min(keys.strides[0], values.strides[0]) >= 0 &&
                    (ceil_div(q[0], tile) + sequences + 2) * q[1] <= kMost;
  return fits ? tile : 0;
}

void add_paged_prompts(StepPlan& plan, const PagedInputs& in, const StepArgument& tiles) {
  PagedAttentionParams p = in.params;
  p.blocks = p.group / PromptSizes::heads(p.group);
  const TensorSpec &keys = in.input(paged::kKeys), &values = in.input(paged::kValues);
  // Threads take all registers that there are for one.
  const runtime::DeviceTraits& device = *in.signature.device;
  const std::int64_t most_threads =
      register_threads(device, device.thread_registers, kPromptThreads);
  plan.add_step(in.rows_fit_vectors(), [&](bool wide, bool rare) {
    const PromptSizes sizes(p.d, p.dv, wide && in.is_uniform());
    const auto vectors = [&](int i, paged::CacheFormat format) {
      return wide ? aligned(in.arguments[i], PagedInputs::wide_bytes(format)) : in.arguments[i];
    };
    return KernelCall("attention/paged_prompts.metal", "paged_prompts",
                      {dtype_struct(in.dtype()), dtype_struct(in.matrix_dtype()),
                       PagedInputs::loader(keys, in.key_format, wide),
                       PagedInputs::loader(values, in.value_format, wide),
                       std::to_string(sizes.columns), std::to_string(sizes.row_tiles),
                       std::to_string(sizes.keys), truth(wide), truth(in.has_softcap)})
        .read(in.memory(), "q", vectors(paged::kQ, 0))
        .read(dialect_type(keys.dtype), "keys", vectors(paged::kKeys, in.key_format))
        .read(dialect_type(values.dtype), "values", vectors(paged::kValues, in.value_format))
        .read("int", "pages", in.arguments[paged::kPages])
        .read("int", "tiles", tiles)
        .read(in.memory(), "sinks", in.arguments[paged::kSinks])
        .write(in.memory(), "out", output_argument(in.signature))
        .constants(p)
        .threadgroup("uint4", "queries", sizes.query_vectors())
        .threadgroup("uint4", "stages", sizes.stage_vectors())
        .threadgroup("int", "slots", sizes.slots())
        .step(plan, {static_cast<std::uint32_t>(p.tiles * p.kv_heads * p.blocks)},
              {static_cast<std::uint32_t>(kPromptThreads)}, most_threads, rare);
  });
}

}  // namespace hearth::gpu
