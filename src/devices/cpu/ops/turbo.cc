// turbo_quantize and turbo_dequantize: the host's encoder and decoder, row by row.
#include <algorithm>
#include <cstdint>

#include "core/packed/turbo.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"
#include "ops/packed/turbo.h"

namespace hearth::cpu {
namespace {

// What an element costs beside a cheap operation.
constexpr std::int64_t kTurboCost = 16;

void launch_turbo_quantize(const Launch& launch) {
  const Operand x = input_of(launch, 0), output = output_of(launch);
  if (element_count(output.shape()) == 0) return;
  const std::int64_t bits = read_turbo_bits(statics_of(launch));
  const int last = x.shape().rank() - 1;
  const std::int64_t n = x.shape()[last], bytes = output.shape()[last], step = x.stride(last);
  const OffsetMap lines(x.shape(), x.strides(), 0, last);
  for_chunks(lines.count(), kTurboCost * n, [&](std::int64_t begin, std::int64_t end) {
    float* const copy = scratch<float>(0, n);
    for (std::int64_t line = begin; line < end; ++line) {
      const float* const row = read_row(x, lines.at(line), step, n, copy);
      encode_turbo(bits, row, n, reinterpret_cast<std::byte*>(output.at(line * bytes)));
    }
  });
}

void launch_turbo_dequantize(const Launch& launch) {
  const Operand codes = input_of(launch, 0), output = output_of(launch);
  if (element_count(output.shape()) == 0) return;
  const std::int64_t bits = read_turbo_bits(statics_of(launch));
  const int last = output.shape().rank() - 1;
  const std::int64_t n = output.shape()[last];
  const OffsetMap lines(codes.shape(), codes.strides(), 0, last);
  for_chunks(lines.count(), 4 * n, [&](std::int64_t begin, std::int64_t end) {
    float* const copy = scratch<float>(0, n);
    for (std::int64_t line = begin; line < end; ++line) {
      const auto* const from = reinterpret_cast<const std::byte*>(codes.at(lines.at(line)));
      if (output.dtype() == DType::f64) {
        decode_turbo(bits, from, n, copy);
        std::copy_n(copy, n, reinterpret_cast<double*>(output.at(line * n)));
        continue;
      }
      float* const row = row_to_write(output, line * n, copy);
      decode_turbo(bits, from, n, row);
      write_row(output, line * n, row, n);
    }
  });
}

constexpr Implementation kTurboFamily[] = {
    {.name = "rows", .op = &turbo_quantize_op, .launch = launch_turbo_quantize},
    {.name = "rows",
     .op = &defs::turbo_dequantize_op,
     .layout = LayoutNeed::last_axis_dense,
     .launch = launch_turbo_dequantize},
};

}  // namespace

Family turbo_family() { return kTurboFamily; }

}  // namespace hearth::cpu
