// attention of many rows: kernels/attention/tiles.metal.
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/inputs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMaxTileColumns = 256;  // of a row of v

// Two products by a library and a softmax between them are faster than tiles, at the price of the
// scores in memory, for a moment twice: worth it up to this many scores, 1 GiB on any device.
constexpr std::int64_t kMaxComposed = std::int64_t{1} << 27;

}  // namespace

// Tiles of f64 would be more threadgroup memory than every GPU has.
bool accepts_attention_tiles(const Signature& signature) {
  return signature.output.dtype != DType::f64 && signature.inputs[kV].shape[3] <= kMaxTileColumns;
}

bool accepts_composed(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  return a.rows > kFewAttentionRows && a.batch * a.heads * a.rows * a.keys <= kMaxComposed;
}

std::shared_ptr<StepPlan> attention_tile_steps(const Signature& signature) {
  constexpr std::int64_t kTile = 64;
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return plan;
  const AttentionInputs a(signature, kQ);
  const std::int64_t columns = a.dv <= 64 ? 64 : a.dv <= 128 ? 128 : 256;
  const std::string memory = a.memory_type(), value = a.value_type();
  const std::vector<std::string> arguments = {dtype_struct(a.dtype()), std::to_string(columns),
                                              truth(a.has_softcap),    truth(a.has_mask),
                                              truth(a.has_bias),       truth(a.has_range)};
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(a.rows, kTile)),
                        static_cast<std::uint32_t>(a.heads), static_cast<std::uint32_t>(a.batch)};
  KernelCall call = a.call("attention/tiles.metal", "attention_tiles", arguments, 1);
  plan->add_step(a.add_sinks(call)
                     .write(memory, "out", output_argument(signature))
                     .constants(a.params)
                     .threadgroup(value, "slices", 2048)
                     .threadgroup(value, "weights", kTile * kTile)
                     .work(a.work())
                     .step(*plan, groups, {kThreads}, kThreads));
  return plan;
}

Prepared prepare_attention_tiles(const Signature& signature) {
  return prepared_steps(attention_tile_steps(signature));
}

}  // namespace hearth::gpu
