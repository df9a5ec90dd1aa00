// Products whose rows have bits of their own: kernels/matmul/row_tiles.metal and row_lanes.metal,
// and simdgroup matrices that share k by its length only.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/simdgroup.h"

namespace hearth::gpu {

#include "kernels/matmul/params.h"

namespace {

constexpr std::int64_t kRowSimdgroups = 4;
constexpr std::int64_t kRowGroupThreads = kRowSimdgroups * kSimdWidth;
// Tiles of a product are counted in 32 bits.
constexpr std::int64_t kMaxRowTiles = std::int64_t{1} << 31;
// Simdgroup matrices share k where a part keeps this length: what leaves and comes back of a part's
// sums takes less time than multiplying it.
constexpr std::int64_t kMinRowPart = 1024;
constexpr std::int64_t kMostRowParts = 4;

// What a threadgroup of row_tiles, or a simdgroup of row_lanes, makes, for up to `rows` rows. The
// last is for any number.
struct RowForm {
  std::int64_t rows;
  std::int64_t output_tiles, row_tiles;  // template arguments, and what they stand for
  std::int64_t hold;
};
constexpr RowForm kTileForms[] = {{8, 1, 1, 6}, {16, 1, 2, 4}, {32, 1, 4, 2}, {0, 4, 4, 1}};
// Of lines that are not whole packets, whose elements are read one by one.
constexpr RowForm kNarrowTileForms[] = {{8, 1, 1, 1}, {16, 1, 2, 1}, {0, 1, 4, 1}};
constexpr RowForm kLaneForms[] = {{1, 1, 1, 4}, {0, 4, 8, 1}};
// Of f64, which takes twice the registers.
constexpr RowForm kWideLaneForms[] = {{1, 1, 1, 4}, {0, 2, 4, 1}};

template <std::size_t kCount>
const RowForm& form_of(const RowForm (&forms)[kCount], std::int64_t rows) {
  for (const RowForm& form : forms) {
    if (rows <= form.rows) return form;
  }
  return forms[kCount - 1];
}

// The product as the kernels see it.
struct RowProduct {
  explicit RowProduct(const Signature& signature)
      : x(strided_operand(signature.inputs[0], 0)),
        w(strided_operand(signature.inputs[1], 1)),
        batch(signature.output.shape) {
    const TensorSpec& a = signature.inputs[0];
    const TensorSpec& b = signature.inputs[1];
    const int rank = batch.rank() - 2, a_row = a.shape.rank() - 2, b_row = b.shape.rank() - 2;
    rows = batch[rank];
    outputs = batch[rank + 1];
    length = b.shape[b_row];
    batch.resize(rank);
    batches = element_count(batch);
    x_batch = batch_strides(a, rank);
    w_batch = batch_strides(b, rank);
    merge_kernel_axes(&batch, {&x_batch, &w_batch});
    x_row = a.strides[a_row];
    x_column = a.strides[a_row + 1];
    w_row = b.strides[b_row + 1];
    w_column = b.strides[b_row];
    const std::int64_t packet = kPacketBytes / size_of(a.dtype);
    const auto are_packets = [&](const Strides& strides, std::int64_t base, std::int64_t line,
                                 std::int64_t column) {
      return column == 1 && line % packet == 0 && base % packet == 0 &&
             std::all_of(strides.begin(), strides.end(),
                         [&](std::int64_t stride) { return stride % packet == 0; });
    };
    is_wide = length % packet == 0 &&
              are_packets(x_batch, x.base, rows == 1 ? 0 : x_row, x_column) &&
              are_packets(w_batch, w.base, outputs == 1 ? 0 : w_row, w_column);
  }

  RowProductParams<kRuntimeRank> params() const {
    return {.batches = batches,
            .rows = rows,
            .outputs = outputs,
            .length = length,
            .x_row = x_row,
            .x_column = x_column,
            .w_row = w_row,
            .w_column = w_column,
            .x = {x.base, &batch, &x_batch},
            .w = {w.base, &batch, &w_batch}};
  }
  Size3 groups(std::int64_t outputs_of_group, std::int64_t rows_of_group) const {
    return {static_cast<std::uint32_t>(ceil_div(outputs, outputs_of_group) *
                                       ceil_div(rows, rows_of_group)),
            static_cast<std::uint32_t>(std::min(batches, kMaxLayers))};
  }

  StridedOperand x, w;
  Shape batch;
  Strides x_batch, w_batch;
  std::int64_t batches, rows, outputs, length;
  std::int64_t x_row, x_column, w_row, w_column;
  bool is_wide;
};

// Adds the operands, as the texts name them.
KernelCall row_call(const std::string& file, const std::string& function, const RowProduct& product,
                    const Signature& signature, const std::vector<std::string>& arguments,
                    bool wide, const std::optional<StepArgument>& added = {}) {
  const char* const type = dialect_type(signature.output.dtype);
  KernelCall call(file, function, arguments);
  const std::int64_t bytes = wide ? kPacketBytes : 1;
  call.read(type, "x", aligned(product.x.argument, bytes))
      .read(type, "w", aligned(product.w.argument, bytes));
  if (added) call.read(type, "added", *added);
  call.write(type, "y", output_argument(signature))
      .constants(product.params())
      .work(product_work(product.batches, product.rows, product.outputs, product.length));
  return call;
}

}  // namespace

bool accepts_row_lanes(const Signature& signature) {
  const Shape& c = signature.output.shape;
  return is_float(signature.output.dtype) && element_count(c) > 0 &&
         signature.inputs[0].shape.back() < kMaxRowLength && c[c.rank() - 2] < kMaxRowTiles &&
         c.back() < kMaxRowTiles && c[c.rank() - 2] * c.back() < kMaxRowTiles * kRowSimdgroups;
}

bool accepts_row_tiles(const Signature& signature) {
  return size_of(signature.output.dtype) == 2 && accepts_row_lanes(signature);
}

bool accepts_row_simdgroups(const Signature& signature) {
  return accepts_simdgroup(signature) && accepts_row_lanes(signature);
}

Prepared prepare_row_tiles(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const RowProduct product(signature);
  const bool adds = !signature.epilogue.empty();
  const StepArgument added =
      adds ? input_argument(signature, signature.epilogue[0].input) : product.x.argument;
  const std::string rank = std::to_string(product.batch.rank());
  plan->add_step(product.is_wide, [&](bool wide, bool rare) {
    const RowForm& form =
        wide ? form_of(kTileForms, product.rows) : form_of(kNarrowTileForms, product.rows);
    const std::int64_t outputs = 16 * form.output_tiles, rows = 8 * form.row_tiles;
    return row_call("matmul/row_tiles.metal", "matmul_row_tiles", product, signature,
                    {dtype_struct(signature.output.dtype), std::to_string(form.output_tiles),
                     std::to_string(form.row_tiles), std::to_string(form.hold), truth(adds),
                     truth(wide), rank},
                    wide, added)
        .threadgroup("float", "parts", kRowSimdgroups * outputs * rows)
        .step(*plan, product.groups(outputs, rows), {kRowGroupThreads}, kRowGroupThreads, rare);
  });
  return prepared_steps(std::move(plan));
}

Prepared prepare_row_lanes(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const RowProduct product(signature);
  const RowForm& form = signature.output.dtype == DType::f64 ? form_of(kWideLaneForms, product.rows)
                                                             : form_of(kLaneForms, product.rows);
  plan->add_step(product.is_wide, [&](bool wide, bool rare) {
    return row_call("matmul/row_lanes.metal", "matmul_row_lanes", product, signature,
                    {dtype_struct(signature.output.dtype), std::to_string(form.output_tiles),
                     std::to_string(form.row_tiles), std::to_string(form.hold), truth(wide),
                     std::to_string(product.batch.rank())},
                    wide)
        .step(*plan, product.groups(kRowSimdgroups * form.output_tiles, form.row_tiles),
              {kRowGroupThreads}, kRowGroupThreads, rare);
  });
  return prepared_steps(std::move(plan));
}

Prepared prepare_row_simdgroups(const Signature& signature) {
  std::int64_t parts = 1;
  const std::int64_t length = signature.inputs[0].shape.back();
  while (parts < kMostRowParts && length >= 2 * parts * kMinRowPart) parts *= 2;
  const auto tiles = simdgroup_tiles(signature, processors(*signature.device));
  return simdgroup_matmul(signature, tiles.front(), parts);
}

}  // namespace hearth::gpu
