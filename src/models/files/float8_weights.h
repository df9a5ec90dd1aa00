// Weights of eight-bit floats, as checkpoints of "fp8" have them: x.weight in F8_E4M3 or F8_E5M2
// and, beside it, x.weight_scale_inv or x.weight_scale, which the floats are multiplied by.
#pragma once

#include <cstdint>

#include "io/safetensors.h"
#include "models/files/host_tensor.h"

namespace hearth::models::folders {

// The part of a matrix that shares a scale, where scales are of blocks.
struct ScaleBlock {
  std::int64_t rows = 128;
  std::int64_t columns = 128;
};

// What a byte of the type stands for; Float8::none and e8m0 are none of its types.
float float8_value(io::Float8 type, std::uint8_t byte) noexcept;

// The values of `weight` times its scales, each rounded once to bf16: exact where `scale` is null.
// weight [..., out, in]; scale of f32, f16, bf16 or F8_E8M0: one element, or for each of the
// leading axes one element, [out], [out, 1] or [ceil(out / block.rows), ceil(in / block.columns)].
// Throws Error{corrupt_file} where they do not fit, Error{unsupported} for a weight of F8_E8M0 and
// other dtypes of scales.
HostTensor decode_float8_weight(const io::SafetensorsView& weight, const io::SafetensorsView* scale,
                                const ScaleBlock& block);

}  // namespace hearth::models::folders
