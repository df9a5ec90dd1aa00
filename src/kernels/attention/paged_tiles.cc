// paged_attention of tiles: kernels/attention/paged_tiles.metal.
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/attention/paged_parts.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostTileColumns = 128;  // that a threadgroup makes

}  // namespace

void add_paged_tiles(StepPlan& plan, const PagedInputs& in, const StepArgument& tiles) {
  PagedAttentionParams p = in.params;
  const std::int64_t columns = p.dv <= 64 ? 64 : kMostTileColumns;
  p.blocks = ceil_div(p.dv, columns);
  const std::string cache = in.cache_memory();
  plan.add_step(KernelCall("attention/paged_tiles.metal", "paged_tiles",
                           {dtype_struct(in.dtype()), dtype_struct(in.cache_dtype()),
                            std::to_string(columns), truth(in.has_softcap)})
                    .read(in.memory(), "q", in.arguments[paged::kQ])
                    .read(cache, "keys", in.arguments[paged::kKeys])
                    .read(cache, "values", in.arguments[paged::kValues])
                    .read("int", "pages", in.arguments[paged::kPages])
                    .read("int", "tiles", tiles)
                    .read(in.memory(), "sinks", in.arguments[paged::kSinks])
                    .write(in.memory(), "out", output_argument(in.signature))
                    .constants(p)
                    .threadgroup("float", "slices", 2 * kSliceDepth * kSlicePitch)
                    .threadgroup("float", "value_slice", kSliceValues)
                    .threadgroup("int", "slots", kAttentionTile)
                    .step(plan, {u32(p.tiles), u32(p.heads * p.blocks)}, {u32(kPagedTileThreads)},
                          kPagedTileThreads));
}

}  // namespace hearth::gpu
