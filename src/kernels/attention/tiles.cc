// attention of many rows: kernels/attention/tiles.metal.
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/inputs.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMaxTileColumns = 256;  // of a row of v

// Two products by a library and a softmax between them are faster than tiles where these skip no
// keys, or have few rows a thread, at the price of the scores in memory, for a moment twice: worth
// it up to this many scores, 1 GiB on any device.
constexpr std::int64_t kMaxComposed = std::int64_t{1} << 27;

// Rows of the scores and of the result that a thread holds: as many as its registers allow.
constexpr std::int64_t kMaxTileRows = 8;
constexpr std::int64_t rows_of_thread(std::int64_t columns) {
  return columns <= 128 ? kMaxTileRows : kMaxTileRows / 2;
}

}  // namespace

// Tiles of f64 would be more threadgroup memory than every GPU has.
bool accepts_attention_tiles(const Signature& signature) {
  const Shape& out = signature.output.shape;
  return signature.output.dtype != DType::f64 && out[3] <= kMaxTileColumns &&
         out[0] <= kMaxLayers && out[1] <= kMaxLayers;
}

bool accepts_composed(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  const bool hides = a.causal || a.has_mask || a.has_range;
  return a.rows > kFewAttentionRows && (!hides || rows_of_thread(a.dv) < kMaxTileRows) &&
         a.batch * a.heads * a.rows * a.keys <= kMaxComposed;
}

std::shared_ptr<StepPlan> attention_tile_steps(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return plan;
  const AttentionInputs a(signature, kQ);
  const std::int64_t columns = a.dv <= 64 ? 64 : a.dv <= 128 ? 128 : 256;
  const std::int64_t rows = rows_of_thread(columns);
  const auto threads = static_cast<std::uint32_t>(16 * kAttentionTile / rows);
  const std::vector<std::string> arguments = {
      dtype_struct(a.dtype()), std::to_string(columns), std::to_string(rows), truth(a.has_softcap),
      truth(a.has_mask),       truth(a.has_bias),       truth(a.has_range)};
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div<std::int64_t>(a.rows, kAttentionTile)),
                        static_cast<std::uint32_t>(a.heads), static_cast<std::uint32_t>(a.batch)};
  KernelCall call = a.call("attention/tiles.metal", "attention_tiles", arguments, 1);
  plan->add_step(a.add_sinks(call)
                     .write(a.memory_type(), "out", output_argument(signature))
                     .constants(a.params)
                     .threadgroup("float", "slices", 2 * kSliceDepth * kSlicePitch)
                     .threadgroup("float", "value_slice", kSliceValues)
                     .threadgroup("uint", "seen", threads / 32)
                     .work(a.work())
                     .step(*plan, groups, {threads}, threads));
  return plan;
}

Prepared prepare_attention_tiles(const Signature& signature) {
  return prepared_steps(attention_tile_steps(signature));
}

}  // namespace hearth::gpu
