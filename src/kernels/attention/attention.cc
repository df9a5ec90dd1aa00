// attention on GPUs: its implementations, best first.
#include "kernels/attention/attention.h"

#include "kernels/attention/inputs.h"
#include "kernels/autotune/size_class.h"
#include "kernels/launch/step_plan.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

using runtime::DeviceTraits;

bool has_tile_products(const DeviceTraits& device) { return device.has_tile_products; }
bool has_simdgroup_matrix(const DeviceTraits& device) { return device.has_simdgroup_matrix; }
bool has_library(const DeviceTraits& device) { return device.libraries.attention.exists; }

constexpr Implementation kAttentionFamily[] = {
    {.name = "small_mma",
     .op = &defs::attention_op,
     .needs = has_tile_products,
     .row_bits = RowBits::shared,
     .accepts = accepts_small_mma,
     .layout = LayoutNeed::aligned_rows,
     .prepare = prepare_small_mma,
     .launch = launch_steps},
    {.name = "library",
     .op = &defs::attention_op,
     .needs = has_library,
     .row_bits = RowBits::shared,
     .accepts = accepts_library_attention,
     .layout = LayoutNeed::aligned_rows,
     .prepare = prepare_library_attention,
     .launch = launch_steps},
    {.name = "flash_decoding_mma",
     .op = &defs::attention_op,
     .needs = has_tile_products,
     .row_bits = RowBits::shared,
     .accepts = accepts_flash_decoding_mma,
     .fits = fits_flash_decoding_mma,
     .prepare = prepare_flash_decoding_mma,
     .launch = launch_steps},
    {.name = "flash_decoding",
     .op = &defs::attention_op,
     .row_bits = RowBits::shared,
     .accepts = accepts_flash_decoding,
     .prepare = prepare_flash_decoding,
     .launch = launch_steps},
    {.name = "simdgroup",
     .op = &defs::attention_op,
     .needs = has_simdgroup_matrix,
     .row_bits = RowBits::shared,
     .accepts = accepts_simdgroup_attention,
     .launch = launch_steps,
     .variants = simdgroup_attention_variants,
     .variant_names = simdgroup_attention_variant_names,
     .tuning = Tuning::rivals,
     .tuning_class = attention_class},
    {.name = "composed",  // where products are a library's
     .op = &defs::attention_op,
     .needs = [](const DeviceTraits& device) { return device.libraries.matmul.strided; },
     .row_bits = RowBits::shared,
     .accepts = accepts_composed},
    {.name = "tiles",
     .op = &defs::attention_op,
     .accepts = accepts_attention_tiles,
     .prepare = prepare_attention_tiles,
     .launch = launch_steps},
    {.name = "library",
     .op = &defs::attention_op,
     .needs = [](const DeviceTraits& device) { return device.libraries.plain_attention.exists; },
     .on_request =
         [](const DeviceTraits& device) { return device.libraries.plain_attention.on_request; },
     .row_bits = RowBits::shared,
     .accepts = accepts_plain_library,
     .fits = fits_plain_library,
     .prepare = prepare_plain_library,
     .launch = launch_steps},
    {.name = "library",
     .op = &defs::attention_with_lse_op,
     .needs = has_library,
     .accepts = accepts_library_attention_with_lse,
     .layout = LayoutNeed::aligned_rows,
     .prepare = prepare_library_attention_with_lse,
     .launch = launch_steps},
    {.name = "library",
     .op = &defs::attention_backward_op,
     .needs = has_library,
     .accepts = accepts_library_attention_backward,
     .layout = LayoutNeed::aligned_rows,
     .prepare = prepare_library_attention_backward,
     .launch = launch_steps},
    {.name = "row_matrix",
     .op = &defs::paged_attention_op,
     .needs = has_tile_products,
     .row_bits = RowBits::chosen,
     .accepts = accepts_paged_row_matrix,
     .fits = fits_paged_matrix,
     .prepare = prepare_paged_row_matrix,
     .launch = launch_steps},
    {.name = "matrix",
     .op = &defs::paged_attention_op,
     .needs = has_tile_products,
     .row_bits = RowBits::shared,
     .accepts = accepts_paged_matrix,
     .fits = fits_paged_matrix,
     .prepare = prepare_paged_matrix,
     .launch = launch_steps},
    {.name = "tiles",
     .op = &defs::paged_attention_op,
     .row_bits = RowBits::shared,
     .accepts = accepts_paged_tiles,
     .prepare = prepare_paged_tiles,
     .launch = launch_steps},
    {.name = "pieces",
     .op = &defs::paged_attention_op,
     .accepts = accepts_paged_pieces,
     .prepare = prepare_paged_pieces,
     .launch = launch_steps},
    {.name = "row_code_matrix",
     .op = &defs::paged_attention_op,
     .needs = has_tile_products,
     .row_bits = RowBits::chosen,
     .accepts = accepts_paged_row_code_matrix,
     .fits = fits_paged_matrix,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_paged_row_matrix,
     .launch = launch_steps},
    {.name = "code_matrix",
     .op = &defs::paged_attention_op,
     .needs = has_tile_products,
     .row_bits = RowBits::shared,
     .accepts = accepts_paged_code_matrix,
     .fits = fits_paged_matrix,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_paged_matrix,
     .launch = launch_steps},
    {.name = "codes",
     .op = &defs::paged_attention_op,
     .accepts = accepts_paged_codes,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_paged_pieces,
     .launch = launch_steps},
};

}  // namespace

Family attention_family() { return kAttentionFamily; }

TuningClass attention_class(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  TuningClass made;
  made.work = a.work();
  // Columns are exact: which tiles fit depends on them.
  made.problem = std::string(name(a.dtype())) + sized("q", a.rows) + sized("k", a.keys) +
                 sized("h", a.heads) + sized("g", a.kv_heads) + sized("b", a.batch) + " d" +
                 std::to_string(a.d) + " v" + std::to_string(a.dv);
  if (a.causal) made.problem += " causal";
  if (a.has_mask) made.problem += " mask";
  if (a.has_bias) made.problem += " bias";
  if (a.has_softcap) made.problem += " softcap";
  if (a.bounded) made.problem += " bounded";
  if (a.has_bounds) made.problem += " sequences";
  if (a.params.window > 0) made.problem += sized("window", a.params.window);
  if (a.has_sinks) made.problem += " sinks";
  return made;
}

}  // namespace hearth::gpu
