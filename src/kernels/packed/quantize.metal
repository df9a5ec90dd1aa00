// quantize_blocks: rows of f32 in blocks of q8_0 or q4_0, with the bits of the host's encoder. Text
// of the kernel dialect.
//
// A simdgroup makes a block, one element a lane; the lane that has a byte's first code writes it.
// Bound by memory.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/packed/lanes.metal"
#include "kernels/packed/params.h"

// A half that is not larger than the largest one, as bytes. Compilers for CUDA take the lowest byte
// of its bits for a conversion of its value, so they get the bits above.
HEARTH_INLINE void put_scale(device uchar* to, float scale) {
  uint bits = uint(as_type<ushort>(half(scale))) * 0x00010001u;
  to[0] = uchar((bits >> 16) & 255u);
  to[1] = uchar(bits >> 24);
}

HEARTH_INLINE float inverse_or_zero(float x) {
  float y = 1.0f / x;
  return metal::isfinite(y) ? y : 0.0f;
}

// NaN as 0, and what is beyond the codes of the largest half as these.
HEARTH_INLINE float limited_to(float x, float most) {
  return x != x ? 0.0f : x > most ? most : x < -most ? -most : x;
}

template <int kBits, int kRank>
void quantize_blocks(device const float* x, device uchar* y, constant QuantizeParams<kRank>& p,
                     Ctx ctx) {
  const int kBytes = 2 + 4 * kBits;
  const float kMost = (kBits == 4 ? 8.0f : 127.0f) * 65504.0f;
  ulong block = (ulong(ctx.tg.x) * ctx.ntid.x + ctx.tid.x) / 32;
  if (block >= ulong(p.blocks)) return;
  ulong line = block / ulong(p.row_blocks);
  long first = long(block - line * ulong(p.row_blocks)) * 32 + long(ctx.lane);
  float value = limited_to(x[offset_of<ulong, kRank>(line, p.x) + first * p.step], kMost);
  device uchar* to = y + block * ulong(kBytes);
  float most = lanes_max(metal::abs(value));
  if (kBits == 8) {
    float scale = most / 127.0f;
    float scaled = value * inverse_or_zero(scale);
    int whole = int(scaled);
    float rest = scaled - float(whole);
    int code = whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0);
    to[2u + ctx.lane] = uchar(uint(code) & 255u);
    if (ctx.lane == 0u) put_scale(to, scale);
  } else {
    // The first of the largest magnitude gets the least code.
    uint own = metal::abs(value) == most ? ctx.lane : 32u;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      own = metal::min(own, shuffle_xor(own, ushort(distance)));
    }
    float scale = simd_shuffle(value, ushort(own & 31u)) / -8.0f;
    int code = int(value * inverse_or_zero(scale) + 8.5f);
    uint bits = uint(code < 0 ? 0 : code > 15 ? 15 : code);
    uint above = shuffle_xor(bits, ushort(16));
    if (ctx.lane < 16u) to[2u + ctx.lane] = uchar(bits | (above << 4));
    if (ctx.lane == 0u) put_scale(to, scale);
  }
}
