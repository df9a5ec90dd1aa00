// dequantize_blocks: pieces of lines, of whole blocks.
#include <algorithm>
#include <cstdint>

#include "core/integer_math.h"
#include "core/packed/decode.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"
#include "ops/packed/blocks.h"

namespace hearth::cpu {
namespace {

// Elements of a piece: of whole blocks in every format.
constexpr std::int64_t kDecodedPiece = 4096;

void launch_dequantize_blocks(const Launch& launch) {
  const Operand bytes = input_of(launch, 0), output = output_of(launch);
  ParamReader statics = statics_of(launch);
  const DType format = read_format(statics);
  const Shape& shape = output.shape();
  const int last = shape.rank() - 1;
  const std::int64_t n = shape[last];
  if (element_count(shape) == 0) return;
  const OffsetMap lines(bytes.shape(), bytes.strides(), 0, last);
  const std::int64_t pieces = ceil_div(n, kDecodedPiece);
  for_chunks(lines.count() * pieces, 4 * std::min(n, kDecodedPiece),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t task = begin; task < end; ++task) {
                 const std::int64_t line = task / pieces, first = task % pieces * kDecodedPiece;
                 const std::int64_t count = std::min(kDecodedPiece, n - first);
                 const auto* from = reinterpret_cast<const std::byte*>(bytes.at(lines.at(line)) +
                                                                       bytes_of(format, first));
                 const std::int64_t to = line * n + first;
                 if (output.dtype() == DType::f64) {
                   float* const values = scratch<float>(0, count);
                   decode(format, from, count, values);
                   std::copy_n(values, count, reinterpret_cast<double*>(output.at(to)));
                   continue;
                 }
                 float* const values = row_to_write(output, to, scratch<float>(0, count));
                 decode(format, from, count, values);
                 write_row(output, to, values, count);
               }
             });
}

constexpr Implementation kDequantizeBlocksFamily[] = {
    {.name = "pieces",
     .op = &defs::dequantize_blocks_op,
     .layout = LayoutNeed::last_axis_dense,
     .launch = launch_dequantize_blocks},
};

}  // namespace

Family dequantize_blocks_family() { return kDequantizeBlocksFamily; }

}  // namespace hearth::cpu
