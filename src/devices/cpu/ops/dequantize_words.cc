// dequantize_words: pieces of lines, of whole blocks where there are several.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/integer_math.h"
#include "devices/cpu/rows/row_codes.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "hearth/quantization/scheme.h"
#include "ops/definition/defs.h"
#include "ops/quantization/value_traits.h"

namespace hearth::cpu {
namespace {

// Codes that a task begins with a call for.
constexpr std::int64_t kPieceCodes = 4096;

float float_of(int code, const quantization::ValueTraits& traits) {
  const quantization::FloatFormat& format = traits.format;
  const int sign_bit = 1 << (traits.bits - 1), magnitude = code & (sign_bit - 1);
  const float sign = (code & sign_bit) != 0 ? -1.0f : 1.0f;
  if (format.nan != 0 && magnitude >= format.nan) return std::numeric_limits<float>::quiet_NaN();
  if (format.infinity != 0 && magnitude == format.infinity) {
    return sign * std::numeric_limits<float>::infinity();
  }
  const int exponent = magnitude >> format.fraction, leading = 1 << format.fraction;
  const int fraction = magnitude & (leading - 1);
  const int steps = exponent == 0 ? fraction : fraction + leading;
  return sign * std::ldexp(static_cast<float>(steps),
                           std::max(exponent, 1) - format.bias - format.fraction);
}

CodeTable table_of(QuantValue value) {
  const quantization::ValueTraits& traits = quantization::traits_of(value);
  CodeTable table;
  table.bits = traits.bits;
  table.is_float = traits.is_float();
  const int count = 1 << table.bits;
  for (int code = 0; code < count; ++code) {
    table.values[static_cast<std::size_t>(code)] =
        table.is_float ? float_of(code, traits)
                       : static_cast<float>(code < count / 2 ? code : code - count);
  }
  return table;
}

template <class T>
void launch_typed(const Launch& launch) {
  const Operand words = input_of(launch, 0), scales = input_of(launch, 1),
                output = output_of(launch);
  ParamReader statics = statics_of(launch);
  const CodeTable table = table_of(static_cast<QuantValue>(statics.i64()));
  const std::int64_t count = statics.i64(), blocks = scales.shape()[1];
  const bool is_whole = blocks == 1;
  const std::int64_t block = is_whole ? kPieceCodes : count / blocks;
  if (count == 0) return;
  const std::int64_t of_piece = std::max<std::int64_t>(1, kPieceCodes / block) * block;
  const std::int64_t pieces = ceil_div(count, of_piece);
  for_chunks(words.shape()[0] * pieces, of_piece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t line = task / pieces, first = task % pieces * of_piece;
      const std::int64_t n = std::min(of_piece, count - first);
      const std::int64_t used = is_whole ? 1 : n / block;
      const std::int64_t at =
          line * scales.stride(0) + (is_whole ? 0 : first / block * scales.stride(1));
      const T* const factors = read_row(scales, at, scales.stride(1), used, scratch<T>(0, used));
      T* const to = row_to_write(output, line * count + first, scratch<T>(1, n));
      const std::byte* const from =
          reinterpret_cast<const std::byte*>(words.at(line * words.stride(0))) +
          first * table.bits / 8;
      row_codes<T>().dequantize(from, n, block, table, factors, is_whole ? 0 : 1, to);
      write_row(output, line * count + first, to, n);
    }
  });
}

void launch_dequantize_words(const Launch& launch) {
  with_compute_type(output_of(launch).dtype(), [&]<class T>() { launch_typed<T>(launch); });
}

// Blocks begin at bytes, and rows of results are stored from what they are computed in.
bool accepts_dequantize_words(const Signature& signature) {
  ParamReader statics(signature.statics);
  const int bits = bits_of(static_cast<QuantValue>(statics.i64()));
  const std::int64_t count = statics.i64(), blocks = signature.inputs[1].shape[1];
  const bool is_double = signature.output.dtype == DType::f64;
  return is_double == (signature.inputs[1].dtype == DType::f64) &&
         (blocks == 1 || count / blocks * bits % 8 == 0);
}

constexpr Implementation kDequantizeWordsFamily[] = {
    {.name = "bytes",
     .op = &defs::dequantize_words_op,
     .accepts = accepts_dequantize_words,
     .layout = LayoutNeed::last_axis_dense,
     .launch = launch_dequantize_words},
};

}  // namespace

Family dequantize_words_family() { return kDequantizeWordsFamily; }

}  // namespace hearth::cpu
