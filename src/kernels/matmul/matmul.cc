// matmul on GPUs: its implementations, best first.
#include "kernels/matmul/matmul.h"

#include <algorithm>

#include "kernels/autotune/size_class.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/epilogue.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

using runtime::DeviceTraits;

bool has_elements(const Signature& signature) {
  return is_float(signature.output.dtype) && element_count(signature.output.shape) > 0;
}

constexpr Implementation kMatmulFamily[] = {
    {.name = "row_tiles",
     .op = &defs::matmul_op,
     .needs = [](const DeviceTraits& device) { return device.has_tile_products; },
     .row_bits = RowBits::chosen,
     .accepts = accepts_row_tiles,
     .fuses = fuses_dense_sum,
     .prepare = prepare_row_tiles,
     .launch = launch_steps},
    {.name = "row_simdgroups",
     .op = &defs::matmul_op,
     .needs = [](const DeviceTraits& device) { return device.has_simdgroup_matrix; },
     .row_bits = RowBits::chosen,
     .accepts = accepts_row_simdgroups,
     .prepare = prepare_row_simdgroups,
     .launch = launch_steps},
    {.name = "row_lanes",
     .op = &defs::matmul_op,
     .row_bits = RowBits::chosen,
     .accepts = accepts_row_lanes,
     .prepare = prepare_row_lanes,
     .launch = launch_steps},
    {.name = "matvec",
     .op = &defs::matmul_op,
     .row_bits = RowBits::shared,
     .accepts = has_elements,
     .fits = fits_matvec,
     .fuses = fuses_dense_sum,
     .prepare = prepare_matvec,
     .launch = launch_steps},
    {.name = "skinny",
     .op = &defs::matmul_op,
     .row_bits = RowBits::shared,
     .accepts = has_elements,
     .fits = fits_skinny,
     .prepare = prepare_skinny,
     .launch = launch_steps,
     .writes_padded = true},
    {.name = "library",
     .op = &defs::matmul_op,
     .needs = [](const DeviceTraits& device) { return device.libraries.matmul.strided; },
     .row_bits = RowBits::shared,
     .accepts = accepts_library,
     .fits = fits_library,
     .layout = LayoutNeed::matrices,
     .fuses = fuses_library,
     .prepare = prepare_library,
     .launch = launch_steps,
     .wants_padding = library_wants_padding,
     .writes_padded = true},
    {.name = "simdgroup",
     .op = &defs::matmul_op,
     .needs = [](const DeviceTraits& device) { return device.has_simdgroup_matrix; },
     .row_bits = RowBits::shared,
     .accepts = accepts_simdgroup,
     .fuses = fuses_matmul,
     .launch = launch_steps,
     .variants = simdgroup_variants,
     .variant_names = simdgroup_variant_names,
     .tuning = Tuning::rivals,
     .tuning_class = matmul_class,
     .writes_padded = true},
    {.name = "tiles",
     .op = &defs::matmul_op,
     .fuses = fuses_matmul,
     .prepare = prepare_tiles,
     .launch = launch_steps,
     .writes_padded = true},
    {.name = "library",
     .op = &defs::matmul_op,
     .needs =
         [](const DeviceTraits& device) {
           return device.libraries.matmul.exists && !device.libraries.matmul.strided;
         },
     .on_request = [](const DeviceTraits& device) { return device.libraries.matmul.on_request; },
     .row_bits = RowBits::shared,
     .accepts = accepts_library,
     .fits = fits_packed_library,
     .fuses = fuses_packed_library,
     .prepare = prepare_packed_library,
     .launch = launch_steps,
     .writes_padded = true},
};

// n: rows are dense, t: columns are, s: neither.
char layout_of(const TensorSpec& spec) {
  const int row = spec.shape.rank() - 2, column = row + 1;
  if (spec.strides[column] == 1 || spec.shape[column] == 1) return 'n';
  return spec.strides[row] == 1 || spec.shape[row] == 1 ? 't' : 's';
}

}  // namespace

Family matmul_family() { return kMatmulFamily; }

bool fuses_matmul(const Signature& signature) {
  return is_float(signature.output.dtype) && matmul_epilogue(signature).has_value();
}

TuningClass matmul_class(const Signature& signature) {
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const Shape& c = signature.output.shape;
  const std::int64_t m = c[c.rank() - 2], n = c.back(), k = a.shape.back();
  const std::int64_t results = element_count(c);
  TuningClass made;
  made.work = static_cast<double>(results) * static_cast<double>(k);
  made.problem = std::string(name(signature.output.dtype)) + " " + layout_of(a) + layout_of(b) +
                 sized("m", m) + sized("n", n) + sized("k", k) +
                 sized("b", results / std::max<std::int64_t>(m * n, 1));
  const MatmulEpilogue epilogue = matmul_epilogue(signature).value_or(MatmulEpilogue{});
  constexpr const char* kActivations[] = {"", " relu", " gelu"};
  if (epilogue.bias >= 0) made.problem += " bias";
  if (epilogue.residual >= 0) made.problem += " residual";
  made.problem += kActivations[static_cast<int>(epilogue.activation)];
  return made;
}

}  // namespace hearth::gpu
