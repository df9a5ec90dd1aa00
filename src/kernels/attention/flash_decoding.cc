// attention of few rows: kernels/attention/flash_decoding.metal, and
// kernels/attention/flash_decoding_mma.metal where a GPU has tensor cores.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/inputs.h"
#include "kernels/launch/divisor.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMaxDecodingColumns = 256;  // of a row of q, k or v
constexpr std::int64_t kMatrixColumns = 8;         // of a vector of flash_decoding_mma()
constexpr std::int64_t kMaxMatrixColumns = 128;

using Plan = std::shared_ptr<StepPlan>;

// How the queries and keys of a launch are split over threadgroups.
struct Shares {
  std::int64_t together;  // queries of a threadgroup
  std::int64_t blocks;    // threadgroups that share those of a group of heads
  std::int64_t splits;    // threadgroups that share the keys
  int shift;              // splits are multiples of 1 << shift keys

  Shares(const AttentionInputs& a, std::int64_t most) {
    const std::int64_t queries = a.heads / a.kv_heads * a.rows;
    together = 1;
    while (together < std::min(queries, most)) together *= 2;
    blocks = ceil_div(queries, together);
    splits = 1;
    shift = 0;
  }
  std::int64_t groups(const AttentionInputs& a) const { return a.batch * a.kv_heads * blocks; }
};

// Adds what computes parts, a kernel of `parameters` and FlashDecodingParams, and split_kv_combine.
void add_few(StepPlan& plan, const AttentionInputs& a, const Shares& shares,
             const std::string& file, const std::string& function,
             const std::vector<std::string>& kernel_arguments, std::int64_t simdgroups,
             std::int64_t shared, bool vectors) {
  constexpr std::int64_t kTurn = 16;  // splits that split_kv_combine() reads at a time
  const std::int64_t most_threads = a.signature.device->max_threads;
  const std::int64_t lines = a.batch * a.heads * a.rows * shares.splits;
  const std::int64_t bytes = a.dtype() == DType::f64 ? 8 : 4;
  const StepArgument partial = workspace(plan, lines * a.dv * bytes);
  const StepArgument row_stats = workspace(plan, lines * 2 * bytes);
  const std::string memory = a.memory_type(), value = a.value_type();
  const FlashDecodingParams params{.attention = a.params,
                                   .group = a.heads / a.kv_heads,
                                   .blocks = shares.blocks,
                                   .splits = divisor(shares.splits),
                                   .shift = shares.shift};
  plan.add_step(a.call(file, function, kernel_arguments, vectors ? kPacketBytes : 1)
                    .write(value, "parts", partial)
                    .write(value, "row_stats", row_stats)
                    .constants(params)
                    .threadgroup(value, "shared", shared)
                    .step(plan, {u32(shares.splits), u32(a.kv_heads), u32(a.batch * shares.blocks)},
                          {u32(simdgroups * kSimdWidth)}, simdgroups * kSimdWidth));

  const std::int64_t columns = ceil_div(a.dv, kSimdWidth) * kSimdWidth;
  const std::int64_t most_turns = most_threads / columns;
  const Size3 threads = {
      u32(columns), u32(std::clamp<std::int64_t>(ceil_div(shares.splits, kTurn), 1, most_turns))};
  KernelCall combine("attention/split_kv.metal", "split_kv_combine", {dtype_struct(a.dtype())});
  combine.read(value, "parts", partial).read(value, "row_stats", row_stats);
  a.add_bounds(combine).dynamics();
  plan.add_step(a.add_sinks(combine)
                    .write(memory, "out", output_argument(a.signature))
                    .constants(params)
                    .threadgroup(value, "shared", most_threads * 3)
                    .step(plan, {u32(a.heads * a.rows), u32(a.batch)}, threads, most_threads));
}

// Queries of a threadgroup, at most.
constexpr std::int64_t queries_together(DType dtype) { return dtype == DType::f64 ? 2 : 8; }

// flash_decoding.
Plan few_steps(const AttentionInputs& a, bool vectors) {
  // Some threadgroups for each processor, none with less than a step of keys.
  constexpr std::int64_t kProcessorGroups = 3, kUnroll = 4;
  const std::int64_t enough = kProcessorGroups * processors(*a.signature.device);
  const std::int64_t lanes = a.lanes();
  Shares shares(a, queries_together(a.dtype()));
  const std::int64_t step = kFewSimdgroups * kUnroll * (kSimdWidth / lanes);
  while ((std::int64_t{1} << shares.shift) < step) ++shares.shift;
  shares.splits = std::clamp<std::int64_t>(
      enough / shares.groups(a), 1, std::max<std::int64_t>(1, ceil_div(a.seen_keys(), step)));
  auto plan = std::make_shared<StepPlan>();
  add_few(*plan, a, shares, "attention/flash_decoding.metal", "flash_decoding",
          {dtype_struct(a.dtype()), std::to_string(lanes), std::to_string(shares.together),
           std::to_string(kUnroll), truth(vectors), truth(a.has_softcap), truth(a.has_mask),
           truth(a.has_bias), truth(a.has_range)},
          kFewSimdgroups, shares.together * (lanes * 8 + 8), vectors);
  return plan;
}

// How many threadgroups share the keys of each of `groups`: as many as fill all `places` of a GPU
// best, where every filling costs a twentieth of the first one in starting and ending.
std::int64_t best_share(std::int64_t groups, std::int64_t places, std::int64_t most) {
  std::int64_t best = 1;
  double least = 0;
  for (std::int64_t share = 1; share <= most; ++share) {
    const std::int64_t fillings = ceil_div(groups * share, places);
    const double filled = static_cast<double>(groups * share) / static_cast<double>(places);
    const double time = (1 / filled + 0.05) * static_cast<double>(fillings);
    if (share == 1 || time < least) {
      best = share;
      least = time;
    }
  }
  return best;
}

// flash_decoding_mma.
Plan matrix_steps(const AttentionInputs& a) {
  constexpr std::int64_t kMinKeys = 64;
  const bool narrow = std::max(a.d, a.dv) <= 64;
  const std::int64_t columns = narrow ? 64 : 128;
  Shares shares(a, 8);
  shares.shift = 4;
  // Threads of wide rows take all registers that there are for one, of narrow rows half as many.
  const runtime::DeviceTraits& device = *a.signature.device;
  const std::int64_t registers = device.thread_registers / (narrow ? 2 : 1);
  const std::int64_t places =
      processors(device) *
      std::max<std::int64_t>(
          device.processor_registers / (kMatrixSimdgroups * kSimdWidth * registers), 1);
  shares.splits = best_share(shares.groups(a), places,
                             std::clamp<std::int64_t>(a.seen_keys() / kMinKeys, 1, places));
  const std::int64_t pass = narrow || shares.together > 4 ? 1 : 2;
  auto plan = std::make_shared<StepPlan>();
  add_few(*plan, a, shares, "attention/flash_decoding_mma.metal", "flash_decoding_mma",
          {dtype_struct(a.dtype()), std::to_string(columns), std::to_string(pass),
           std::to_string(shares.together), truth(a.d == columns && a.dv == columns),
           truth(a.has_softcap), truth(a.has_mask), truth(a.has_bias), truth(a.has_range)},
          kMatrixSimdgroups, kMatrixSimdgroups * shares.together * (64 * pass + 6), true);
  return plan;
}

// `steps` for addresses that fit vectors, and others for any.
Prepared with_any(const AttentionInputs& a, Plan steps) {
  if (a.rows_fit_vectors()) steps->set_fallback(few_steps(a, false));
  return prepared_steps(std::move(steps));
}

}  // namespace

bool accepts_flash_decoding(const Signature& signature) {
  const Shape& q = signature.inputs[kQ].shape;
  const Shape& v = signature.inputs[kV].shape;
  if (q[2] > kFewAttentionRows || q[3] > kMaxDecodingColumns || v[3] > kMaxDecodingColumns) {
    return false;
  }
  if (element_count(signature.output.shape) == 0) return true;
  const AttentionInputs a(signature, kQ);
  const std::int64_t blocks = Shares(a, queries_together(a.dtype())).blocks;
  return a.kv_heads <= kMaxLayers && a.batch <= kMaxLayers / blocks;
}

bool accepts_flash_decoding_mma(const Signature& signature) {
  const DType dtype = signature.inputs[kQ].dtype;
  const std::int64_t d = signature.inputs[kQ].shape[3], dv = signature.inputs[kV].shape[3];
  return (dtype == DType::f16 || dtype == DType::bf16) && accepts_flash_decoding(signature) &&
         element_count(signature.output.shape) > 0 && signature.inputs[kK].shape[2] > 0 &&
         d % kMatrixColumns == 0 && dv % kMatrixColumns == 0 &&
         std::max(d, dv) <= kMaxMatrixColumns;
}

bool fits_flash_decoding_mma(const Signature& signature) {
  return AttentionInputs(signature, kQ).rows_fit_vectors();
}

Prepared prepare_flash_decoding(const Signature& signature) {
  if (element_count(signature.output.shape) == 0) {
    return prepared_steps(std::make_shared<StepPlan>());
  }
  const AttentionInputs a(signature, kQ);
  return with_any(a, few_steps(a, a.rows_fit_vectors()));
}

Prepared prepare_flash_decoding_mma(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  return with_any(a, matrix_steps(a));
}

}  // namespace hearth::gpu
