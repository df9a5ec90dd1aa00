#include "tools/bench/gpu/random_blocks.h"

#include <algorithm>
#include <cstdint>

#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "hearth/random.h"

namespace hearth::tools {

Array random_blocks(DType format, const Shape& shape, Device device) {
  constexpr std::int64_t kDistinct = 16;
  const std::int64_t out = shape[0], in = shape[1];
  Generator generator{1, 0};
  const Array some = random_normal({kDistinct, in}, 0, 0.02, DType::f32, Device::cpu(), &generator);
  const Array bytes = to_device(block_bytes(quantize(some, format)), device);
  const std::int64_t copies = (out + kDistinct - 1) / kDistinct, width = bytes.shape(1);
  const Array all = contiguous(expand(unsqueeze(bytes, {0}), {copies, kDistinct, width}));
  return packed_blocks(narrow(reshape(all, {copies * kDistinct, width}), 0, 0, out), format);
}

}  // namespace hearth::tools
