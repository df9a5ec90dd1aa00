#include "kernels/attention/paged_inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "codegen/dialect_types.h"
#include "kernels/packed/format_struct.h"

namespace hearth::gpu {

PagedInputs::PagedInputs(const Signature& from, std::int64_t tile) : signature(from) {
  const paged::Settings s = paged::settings_of(ParamReader(from.statics));
  const Shape& q = input(paged::kQ).shape;
  const Shape& keys = input(paged::kKeys).shape;
  const auto bits = [](double x) { return std::bit_cast<std::int64_t>(x); };
  const double log2e = 1 / std::log(2.0);
  has_softcap = s.softcap > 0;
  key_format = s.key_format;
  value_format = s.value_format;
  params.rows = q[0];
  params.heads = q[1];
  params.kv_heads = keys[1];
  params.group = q[1] / keys[1];
  params.d = q[2];
  params.dv = paged::columns_of(value_format, input(paged::kValues).shape[2]);
  params.sequences = input(paged::kPages).shape[0];
  params.most = input(paged::kPages).shape[1];
  params.page_size = s.page_size;
  params.page_count = keys[0] / s.page_size;
  // What reaches past all keys hides nothing.
  const std::int64_t most = params.most * s.page_size;
  params.window = s.window > most ? 0 : s.window;
  params.scale = bits(has_softcap ? s.scale / s.softcap : s.scale * log2e);
  params.softcap = bits(s.softcap * log2e);
  params.log2e = bits(log2e);
  params.q = rows_of(paged::kQ);
  params.keys = rows_of(paged::kKeys);
  params.values = rows_of(paged::kValues);
  params.pages = numbers_of(paged::kPages);
  params.starts = numbers_of(paged::kStarts);
  params.lengths = numbers_of(paged::kLengths);
  arguments[paged::kSinks] = arguments[paged::kQ];
  if (has(paged::kSinks)) {
    const StridedOperand sinks = strided_operand(input(paged::kSinks), paged::kSinks);
    arguments[paged::kSinks] = sinks.argument;
    params.sinks = 1;
    params.sink_base = sinks.base;
    params.sink_step = input(paged::kSinks).strides[0];
  }
  params.few = tile > 0 ? kFewPagedRows : std::numeric_limits<std::int32_t>::max();
  params.units = tile > 0 ? std::min(q[0], params.sequences * kFewPagedRows) : q[0];
  // Each sequence may end in a tile that is not whole, and rows of none before and after them.
  params.tiles = tile > 0 ? ceil_div(q[0], tile) + params.sequences + 2 : 0;
  params.tile_shift = tile > 0 ? std::countr_zero(static_cast<std::uint64_t>(tile)) : 0;
  params.pieces = std::max<std::int64_t>(ceil_div<std::int64_t>(most, kPieceKeys), 1);
}

std::string PagedInputs::loader(const TensorSpec& cache, paged::CacheFormat format, bool wide) {
  const std::string name = format == 0 ? std::string("FloatCache") + dtype_struct(cache.dtype)
                           : is_turbo_bits(format)
                               ? "CodeCacheTurbo" + std::to_string(format)
                               : "CodeCache" + format_struct(static_cast<DType>(format));
  return wide ? name + "Wide" : name;
}

bool PagedInputs::rows_fit_vectors() const {
  for (const int i : {paged::kKeys, paged::kValues}) {
    const TensorSpec& spec = input(i);
    const paged::CacheFormat format = i == paged::kKeys ? key_format : value_format;
    if (format != 0) {
      for (int axis = 0; axis < 2; ++axis) {
        if (spec.shape[axis] != 1 && spec.strides[axis] % wide_bytes(format) != 0) return false;
      }
      continue;
    }
    if (spec.shape[2] % kMatrixVector != 0 || spec.strides[2] != 1) return false;
    for (int axis = 0; axis < 2; ++axis) {
      if (spec.shape[axis] != 1 && spec.strides[axis] % kMatrixVector != 0) return false;
    }
  }
  return true;
}

PagedOperand PagedInputs::rows_of(int i) {
  const StridedOperand operand = strided_operand(input(i), i);
  arguments[i] = operand.argument;
  const Strides& strides = input(i).strides;
  return {.base = operand.base, .row = strides[0], .head = strides[1], .column = strides[2]};
}

PagedNumbers PagedInputs::numbers_of(int i) {
  const TensorSpec& spec = input(i);
  const StridedOperand operand = strided_operand(spec, i);
  arguments[i] = operand.argument;
  // In words of 32 bits, the lower of an i64 first.
  const std::int64_t words = size_of(spec.dtype) / size_of(DType::i32);
  const int last = spec.shape.rank() - 1;
  return {.words = words,
          .base = operand.base * words,
          .row = last > 0 ? spec.strides[0] * words : 0,
          .column = spec.strides[last] * words};
}

}  // namespace hearth::gpu
