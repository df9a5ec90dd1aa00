// paged_attention: kernels/attention/paged.metal plans the rows, and others make them.
#include <algorithm>
#include <limits>
#include <memory>

#include "kernels/attention/attention.h"
#include "kernels/attention/paged_parts.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMaxPagedColumns = 1024;  // of a row of q

// What makes the rows of sequences that have more than a few.
enum class LongRows { units, tiles, prompts };

Prepared prepare_paged(const Signature& signature, LongRows long_rows, bool by_matrix) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  // No sequence has more rows than there are.
  if (signature.inputs[paged::kQ].shape[0] <= kFewPagedRows) long_rows = LongRows::units;
  const std::int64_t tile = long_rows == LongRows::units   ? 0
                            : long_rows == LongRows::tiles ? std::int64_t{kAttentionTile}
                                                           : prompt_tile(signature);
  const PagedInputs in(signature, tile);
  const auto entries = [&](std::int64_t count) {
    return workspace(*plan, std::max<std::int64_t>(count, 1) * kPagedEntryBytes);
  };
  const StepArgument units = entries(in.params.units), tiles = entries(in.params.tiles);
  plan->add_step(KernelCall("attention/paged.metal", "paged_plan", {truth(tile > 0)})
                     .read("int", "starts", in.arguments[paged::kStarts])
                     .read("int", "lengths", in.arguments[paged::kLengths])
                     .write("int", "units", units)
                     .write("int", "tiles", tiles)
                     .constants(in.params)
                     .step(*plan, {1}, {static_cast<std::uint32_t>(kSimdWidth)}, kSimdWidth));
  add_paged_units(*plan, in, units, by_matrix);
  if (long_rows == LongRows::tiles) add_paged_tiles(*plan, in, tiles);
  if (long_rows == LongRows::prompts) add_paged_prompts(*plan, in, tiles);
  return prepared_steps(std::move(plan));
}

bool fits_pieces(const Signature& signature) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const Shape& q = signature.inputs[paged::kQ].shape;
  const Shape& values = signature.inputs[paged::kValues].shape;
  return q[0] <= kMost && values[0] <= kMost && q[2] <= kMaxPagedColumns &&
         q[1] * ceil_div<std::int64_t>(signature.output.shape[2], 64) <= kMaxLayers;
}

}  // namespace

bool accepts_paged_pieces(const Signature& signature) {
  return !paged::has_codes(ParamReader(signature.statics)) && fits_pieces(signature);
}

bool accepts_paged_codes(const Signature& signature) { return fits_pieces(signature); }

bool accepts_paged_tiles(const Signature& signature) {
  const DType keys = signature.inputs[paged::kKeys].dtype;
  return signature.output.dtype != DType::f64 && is_float(keys) && keys != DType::f64 &&
         signature.inputs[paged::kValues].dtype == keys && accepts_paged_pieces(signature);
}

namespace {

// Whether tensor cores take rows and prompts: q becomes `keys` without a loss (few of f16 are
// bf16), columns are whole vectors, the factor of scores is positive or they are capped, there is a
// result, and a tile of a prompt fits the device.
bool fits_matrix(const Signature& signature, DType keys) {
  const TensorSpec& q = signature.inputs[paged::kQ];
  const paged::Settings s = paged::settings_of(ParamReader(signature.statics));
  const std::int64_t dv = signature.output.shape[2];
  const bool fits_keys = q.dtype == keys || (q.dtype == DType::bf16 && keys == DType::f16);
  return size_of(q.dtype) == 2 && fits_keys && q.shape[2] % kMatrixVector == 0 &&
         dv % kMatrixVector == 0 && (s.scale > 0 || s.softcap > 0) &&
         element_count(signature.output.shape) > 0 &&
         (std::max(q.shape[2], dv) <= kMostUnitColumns || prompt_tile(signature) > 0);
}

}  // namespace

bool accepts_paged_matrix(const Signature& signature) {
  return accepts_paged_tiles(signature) &&
         fits_matrix(signature, signature.inputs[paged::kKeys].dtype);
}

bool accepts_paged_code_matrix(const Signature& signature) {
  const paged::Settings s = paged::settings_of(ParamReader(signature.statics));
  const auto fits = [&](int i, paged::CacheFormat format) {
    return format != 0 || signature.inputs[static_cast<std::size_t>(i)].dtype == DType::f16;
  };
  return paged::has_codes(ParamReader(signature.statics)) && fits(paged::kKeys, s.key_format) &&
         fits(paged::kValues, s.value_format) && fits_pieces(signature) &&
         fits_matrix(signature, DType::f16);
}

namespace {

// Whether tensor cores take pieces of keys.
bool has_few_columns(const Signature& signature) {
  return std::max(signature.inputs[paged::kQ].shape[2], signature.output.shape[2]) <=
         kMostUnitColumns;
}

}  // namespace

bool accepts_paged_row_matrix(const Signature& signature) {
  return has_few_columns(signature) && accepts_paged_matrix(signature);
}

bool accepts_paged_row_code_matrix(const Signature& signature) {
  return has_few_columns(signature) && accepts_paged_code_matrix(signature);
}

bool fits_paged_matrix(const Signature& signature) {
  const TensorSpec& q = signature.inputs[paged::kQ];
  for (int axis = 0; axis < 2; ++axis) {
    if (q.shape[axis] != 1 && q.strides[axis] % kMatrixVector != 0) return false;
  }
  return q.strides[2] == 1 && PagedInputs(signature, 0).rows_fit_vectors();
}

Prepared prepare_paged_pieces(const Signature& signature) {
  return prepare_paged(signature, LongRows::units, false);
}
Prepared prepare_paged_row_matrix(const Signature& signature) {
  return prepare_paged(signature, LongRows::units, true);
}
Prepared prepare_paged_tiles(const Signature& signature) {
  return prepare_paged(signature, LongRows::tiles, false);
}
Prepared prepare_paged_matrix(const Signature& signature) {
  // Where tiles of prompts do not fit the device, tensor cores still make the rows that are few.
  const LongRows without = accepts_paged_tiles(signature) ? LongRows::tiles : LongRows::units;
  return prepare_paged(signature, prompt_tile(signature) > 0 ? LongRows::prompts : without, true);
}

}  // namespace hearth::gpu
