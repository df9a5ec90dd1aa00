// quantize_blocks: the host's encoders, over pieces of lines.
#include <algorithm>
#include <cstdint>

#include "core/integer_math.h"
#include "core/packed/encode.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/packed/blocks.h"
#include "ops/packed/quantize.h"

namespace hearth::cpu {
namespace {

// Elements of a piece, of whole blocks in every format, and about what an element's search costs
// beside a cheap operation.
constexpr std::int64_t kEncodedPiece = 1024;
constexpr std::int64_t kSearchCost = 64;

void launch_quantize_blocks(const Launch& launch) {
  const Operand x = input_of(launch, 0), output = output_of(launch);
  ParamReader statics = statics_of(launch);
  const DType format = read_format(statics);
  const int last = x.shape().rank() - 1;
  const std::int64_t n = x.shape()[last];
  if (element_count(x.shape()) == 0) return;
  const OffsetMap lines(x.shape(), x.strides(), 0, last);
  const bool is_weighted = has_input(launch, 1);
  const Operand importance = is_weighted ? input_of(launch, 1) : x;
  const bool of_each = is_weighted && importance.shape().rank() == x.shape().rank() && last > 0;
  const OffsetMap weights(importance.shape(), importance.strides(), 0, of_each ? last : 0);
  const std::int64_t pieces = ceil_div(n, kEncodedPiece);
  for_chunks(lines.count() * pieces, kSearchCost * std::min(n, kEncodedPiece),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t task = begin; task < end; ++task) {
                 const std::int64_t line = task / pieces, first = task % pieces * kEncodedPiece;
                 const std::int64_t count = std::min(kEncodedPiece, n - first);
                 const auto* from = reinterpret_cast<const float*>(x.at(lines.at(line) + first));
                 const float* weight = nullptr;
                 if (is_weighted) {
                   const std::int64_t at = of_each ? weights.at(line) : 0;
                   weight = reinterpret_cast<const float*>(importance.at(at + first));
                 }
                 auto* to =
                     reinterpret_cast<std::byte*>(output.at(bytes_of(format, line * n + first)));
                 encode(format, from, count, weight, to);
               }
             });
}

constexpr Implementation kQuantizeBlocksFamily[] = {
    {.name = "pieces",
     .op = &quantize_blocks_op,
     .layout = LayoutNeed::last_axis_dense,
     .launch = launch_quantize_blocks},
};

}  // namespace

Family quantize_blocks_family() { return kQuantizeBlocksFamily; }

}  // namespace hearth::cpu
