// packed_linear of rows, up to 16 at a time, by tensor cores: y[r, o] = sum over k of x[r, k] *
// weight[o, k] (+ bias[o]) (+ added[r, o]). Text of the kernel dialect.
//
// A threadgroup makes 16 outputs of up to 16 rows, those along y of the next rows. Its simdgroups
// share out the inner axis by pieces of 8 units of 32 elements: each copies those of 16 weight rows
// into threadgroup memory, 16 bytes a lane, the next ones being on the way, and multiplies their
// codes with those of x (code_columns()). In the layout of the product (kernels/blocks/mma.h) a
// lane makes the codes that it multiplies. Bound by reading the weights, and close to it by the
// work on sums: an instruction for an element and 8 rows. Products of codes are exact; sums of f32
// go along k in an order that depends on k and on the number of simdgroups.

#include "kernels/blocks/mma.h"
#include "kernels/packed/books.metal"
#include "kernels/packed/codes.metal"

// The same bits as an int and as a float: an integer below 2^22, added to 3 * 2^22.
constexpr constant int kIntegerBits = 0x4b400000;

// A packet of weights, which leave the nearest cache to the codes of x.
HEARTH_INLINE Packet<16> read_weights(device const uchar* from) {
#if HEARTH_HAS_READ_ONCE
  uint4 words = metal::read_once((device const uint4*)from);
  Packet<16> packet;
  packet.word[0] = words.x;
  packet.word[1] = words.y;
  packet.word[2] = words.z;
  packet.word[3] = words.w;
  return packet;
#else
  return Packet<16>::read(from);
#endif
}

// kTileUnits units of kTileRows weight rows on their way through registers, as in Staging.
template <typename F, bool kWhole, int kAlignment>
struct TileStaging {
  enum { bytes = int(kTileUnits) * int(kUnit) / int(F::elements) * int(F::bytes) };
  enum { packets = (bytes + (kWhole ? 16 - kAlignment : 0) + 15) / 16 };
  // Of a row in threadgroup memory: an odd number of vectors, so that rows lie in different banks.
  enum { pitch = packets | 1 };
  enum { loads = (int(kTileRows) * packets + 31) / 32 };
  enum { one_step = F::step_elements == 32 };
  enum { steps = one_step ? int(kTileUnits) : 2 * int(kTileUnits), step_pitch = steps + 4 };
  // A word is read together with the next one.
  enum { blocks_end = int(kTileRows) * pitch + 1 };
  enum { step_vectors = int(kTileRows) * step_pitch / 4 };
  enum { steps_end = blocks_end + (F::has_least != 0 ? 2 : 1) * step_vectors };

  Packet<16> held[loads];

  // Bytes in front of a row's first block.
  static HEARTH_INLINE uint lead(long start) {
    return kWhole ? uint(start) & 15u & ~uint(kAlignment - 1) : 0u;
  }

  // Row i begins at byte start + min(i, last) * stride, and has `left` units more. Nothing is read
  // from byte `end` on.
  HEARTH_INLINE void load(device const uchar* weight, long start, long stride, uint last, uint left,
                          long end, uint lane) {
    uint count = metal::min(left, uint(kTileUnits)) * uint(kUnit) / F::elements * F::bytes;
    bool inside = kWhole && start + long(last) * stride + long(packets) * 16 <= end;
#pragma unroll
    for (int i = 0; i < int(loads); ++i) {
      uint index = lane + 32u * uint(i), row = index / uint(packets),
           packet = index % uint(packets);
      long from = start + long(metal::min(row, last)) * stride;
      uint before = lead(from);
      from -= long(before);
      if (inside) {
        held[i] = read_weights(weight + (from + long(packet) * 16));
      } else {
        held[i] = Staging<F, kWhole, kAlignment>::part(weight, from, packet, before + count, end);
      }
    }
  }
  HEARTH_INLINE void store(threadgroup uint4* to, uint lane) const {
#pragma unroll
    for (int i = 0; i < int(loads); ++i) {
      uint index = lane + 32u * uint(i), row = index / uint(packets),
           packet = index % uint(packets);
      if (row >= uint(kTileRows)) continue;
      to[row * uint(pitch) + packet] =
          uint4(held[i].word[0], held[i].word[1], held[i].word[2], held[i].word[3]);
    }
  }
  static HEARTH_INLINE StagedBlock<kAlignment> block(threadgroup const uint4* vectors, uint lead,
                                                     uint row, uint block) {
    StagedBlock<kAlignment> staged;
    staged.words = (threadgroup const uint*)vectors;
    staged.first = row * uint(pitch) * 16u + lead + block * F::bytes;
    return staged;
  }
};

// The steps, and what is subtracted, of all groups of the staged rows. Those of units from `count`
// on are 0.
template <typename F, bool kWhole, int kAlignment>
HEARTH_INLINE void stage_steps(threadgroup uint4* own, long start, long stride, uint last,
                               uint count, uint lane) {
  typedef TileStaging<F, kWhole, kAlignment> Stage;
  const uint kGroups = F::elements / 16u, kEach = uint(Stage::steps) / 2u;
  threadgroup float* steps = (threadgroup float*)(own + uint(Stage::blocks_end));
  threadgroup float* leasts = steps + uint(kTileRows) * uint(Stage::step_pitch);
  uint row = lane >> 1;
  uint lead = Stage::lead(start + long(metal::min(row, last)) * stride);
#pragma unroll
  for (uint i = 0u; i < kEach; ++i) {
    uint step = (lane & 1u) * kEach + i, group = Stage::one_step != 0 ? 2u * step : step;
    StagedBlock<kAlignment> block = Stage::block(own, lead, row, group / kGroups);
    bool inside = group < 2u * count;
    uint at = row * uint(Stage::step_pitch) + step;
    steps[at] = inside ? F::step(block, group % kGroups) : 0.0f;
    if (F::has_least != 0) leasts[at] = inside ? F::least(block, group % kGroups) : 0.0f;
  }
}

// Four floats from a vector on.
HEARTH_INLINE void read_floats(threadgroup const float* from, thread float* to) {
  float4 four = *(threadgroup const float4*)from;
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

// sums[0..1] of one row and sums[2..3] of another, in two columns: of products of codes, by the
// steps of the rows and the scales of the columns.
HEARTH_INLINE void add_scaled(thread float* sums, int4 dot, float upper, float lower, uint4 scale) {
  // Exact: dots are below 2^22.
  float first = as_type<float>(scale.x), second = as_type<float>(scale.z);
  float magic = as_type<float>(kIntegerBits);
  sums[0] = metal::fma((as_type<float>(dot.x) - magic) * first, upper, sums[0]);
  sums[1] = metal::fma((as_type<float>(dot.y) - magic) * second, upper, sums[1]);
  sums[2] = metal::fma((as_type<float>(dot.z) - magic) * first, lower, sums[2]);
  sums[3] = metal::fma((as_type<float>(dot.w) - magic) * second, lower, sums[3]);
}
// The same of two groups with a step each.
HEARTH_INLINE float of_groups(int dot, int other, float step, float other_step) {
  float magic = as_type<float>(kIntegerBits);
  return metal::fma(as_type<float>(other) - magic, other_step,
                    (as_type<float>(dot) - magic) * step);
}
HEARTH_INLINE void add_groups(thread float* sums, int4 dot, int4 other, thread const float* upper,
                              thread const float* lower, uint4 scale) {
  float first = as_type<float>(scale.x), second = as_type<float>(scale.z);
  sums[0] = metal::fma(of_groups(dot.x, other.x, upper[0], upper[1]), first, sums[0]);
  sums[1] = metal::fma(of_groups(dot.y, other.y, upper[0], upper[1]), second, sums[1]);
  sums[2] = metal::fma(of_groups(dot.z, other.z, lower[0], lower[1]), first, sums[2]);
  sums[3] = metal::fma(of_groups(dot.w, other.w, lower[0], lower[1]), second, sums[3]);
}
HEARTH_INLINE void subtract_least(thread float* sums, uint4 scale, int first, int last, float upper,
                                  float lower) {
  float even = as_type<float>(scale.x) * float(dot2(scale.y, first, last, 0));
  float odd = as_type<float>(scale.z) * float(dot2(scale.w, first, last, 0));
  sums[0] = metal::fma(-upper, even, sums[0]);
  sums[1] = metal::fma(-upper, odd, sums[1]);
  sums[2] = metal::fma(-lower, even, sums[2]);
  sums[3] = metal::fma(-lower, odd, sums[3]);
}
// What products of codes begin with: minus what the zero of the weight's codes adds to them.
HEARTH_INLINE int4 begin_dots(uint4 scale, int first, int last) {
  int even = dot2(scale.y, first, last, kIntegerBits);
  int odd = dot2(scale.w, first, last, kIntegerBits);
  return int4(even, odd, even, odd);
}

// What a simdgroup has of x for the units of a piece. Units beyond the last are like it.
template <int kTiles>
struct ColumnCodes {
  uint4 pair[kTiles * kTileUnits / 2];  // of two units: see code_columns()
  uint4 scales[kTiles];                 // on their way to threadgroup memory

  HEARTH_INLINE void load(device const uint4* codes, device const uint4* from, uint unit,
                          uint units, uint lane) {
    const uint kVectors = 4u * uint(kTiles);  // of a unit's scales
#pragma unroll
    for (uint i = 0u; i < uint(kTileUnits) / 2u; ++i) {
      uint at = metal::min((unit >> 1) + i, (units - 1u) >> 1) * uint(kTiles);
#pragma unroll
      for (uint n = 0u; n < uint(kTiles); ++n) pair[i * kTiles + n] = codes[(at + n) * 32u + lane];
    }
#pragma unroll
    for (uint n = 0u; n < uint(kTiles); ++n) {
      uint at = 32u * n + lane;
      scales[n] = from[metal::min(unit + at / kVectors, units - 1u) * kVectors + at % kVectors];
    }
  }
};

// Codes of four elements as they are multiplied, not lifted.
template <typename F, typename Block>
HEARTH_INLINE uint codes_of_tile(threadgroup const uint* book, Block block, uint g, uint q) {
  return int(F::order) != int(natural_order) || uint(F::book) != 0u
             ? Book<F>::word(book, block, g, q)
             : F::four(block, g, q);
}

// Adds the products of the units of a piece, which is staged.
template <typename F, int kTiles, bool kWhole, int kAlignment>
HEARTH_INLINE void multiply_piece(thread float* sums, threadgroup const uint* book,
                                  threadgroup const uint4* own, long start, long stride, uint last,
                                  thread const uint4* pair, threadgroup const uint4* scales,
                                  uint lane) {
  typedef TileStaging<F, kWhole, kAlignment> Stage;
  const uint kOfBlock = F::elements / kUnit, kPitch = uint(Stage::step_pitch);
  const bool kOneStep = Stage::one_step != 0;
  const int kZero = int(F::zero);
  uint row = lane >> 2, quarter = lane & 3u;
  uint lead_upper = Stage::lead(start + long(metal::min(row, last)) * stride);
  uint lead_lower = Stage::lead(start + long(metal::min(row + 8u, last)) * stride);
  threadgroup const float* steps = (threadgroup const float*)(own + uint(Stage::blocks_end));
  threadgroup const float* leasts = steps + uint(kTileRows) * kPitch;
  float step[2][4], least[2][4];
#pragma unroll
  for (uint u = 0u; u < uint(kTileUnits); ++u) {
    if (kOneStep ? (u & 3u) == 0u : (u & 1u) == 0u) {
      uint at = row * kPitch + (kOneStep ? u : 2u * u);
      read_floats(steps + at, step[0]);
      read_floats(steps + (at + 8u * kPitch), step[1]);
      if (F::has_least != 0) {
        read_floats(leasts + at, least[0]);
        read_floats(leasts + (at + 8u * kPitch), least[1]);
      }
    }
    StagedBlock<kAlignment> upper = Stage::block(own, lead_upper, row, u / kOfBlock);
    StagedBlock<kAlignment> lower = Stage::block(own, lead_lower, row + 8u, u / kOfBlock);
    uint g = 2u * (u % kOfBlock);
    uint4 a;
    a.x = codes_of_tile<F>(book, upper, g, quarter);
    a.y = codes_of_tile<F>(book, lower, g, quarter);
    a.z = codes_of_tile<F>(book, upper, g + 1u, quarter);
    a.w = codes_of_tile<F>(book, lower, g + 1u, quarter);
#pragma unroll
    for (uint n = 0u; n < uint(kTiles); ++n) {
      uint4 both = pair[(u >> 1) * uint(kTiles) + n];
      uint2 b = (u & 1u) == 0u ? uint2(both.x, both.y) : uint2(both.z, both.w);
      uint4 scale = scales[(u * uint(kTiles) + n) * 4u + quarter];
      thread float* own_sums = sums + 4u * n;
      uint s = kOneStep ? u & 3u : 2u * (u & 1u);
      if (kOneStep) {
        int4 dots = byte_tile_product(a, b, begin_dots(scale, -kZero, -kZero), lane);
        add_scaled(own_sums, dots, step[0][s], step[1][s], scale);
        if (F::has_least != 0) subtract_least(own_sums, scale, 1, 1, least[0][s], least[1][s]);
      } else {
        int4 dots = byte_tile_product(uint2(a.x, a.y), b.x, begin_dots(scale, -kZero, 0), lane);
        int4 others = byte_tile_product(uint2(a.z, a.w), b.y, begin_dots(scale, 0, -kZero), lane);
        add_groups(own_sums, dots, others, step[0] + s, step[1] + s, scale);
        if (F::has_least != 0) {
          subtract_least(own_sums, scale, 1, 0, least[0][s], least[1][s]);
          subtract_least(own_sums, scale, 0, 1, least[0][s + 1u], least[1][s + 1u]);
        }
      }
    }
  }
}

// kTiles * kTileColumns columns.
template <typename F, typename D, int kTiles, bool kBias, bool kAdded, bool kWhole, int kAlignment>
void packed_tiles(device const uint4* codes, device const uint4* scales, device const uchar* weight,
                  device const typename D::memory* bias, device const typename D::memory* added,
                  device typename D::memory* y, constant PackedTileParams& p,
                  threadgroup uint4* staged, Ctx ctx) {
  typedef TileStaging<F, kWhole, kAlignment> Stage;
  const uint kColumns = uint(kTiles) * uint(kTileColumns);
  threadgroup uint4* own = staged + ctx.sg * (uint(Stage::steps_end) + 32u * uint(kTiles));
  threadgroup uint4* own_scales = own + uint(Stage::steps_end);
  threadgroup uint4* book = staged + ctx.nsg * (uint(Stage::steps_end) + 32u * uint(kTiles));
  uint units = uint(p.units), step = ctx.nsg * uint(kTileUnits);
  long first = long(ctx.tg.x) * kTileRows;  // output
  uint last = uint(metal::min(p.outputs - first, long(kTileRows))) - 1u;
  long row = p.base + first * p.stride;
  float sums[4 * kTiles];
#pragma unroll
  for (int i = 0; i < 4 * kTiles; ++i) sums[i] = 0.0f;
  Stage stage;
  uint unit = ctx.sg * uint(kTileUnits);
  long start = row + long(ctx.sg) * Stage::bytes;
  if (unit < units) stage.load(weight, start, p.stride, last, units - unit, p.end, ctx.lane);
  if (uint(F::book) != 0u) {
    fill_book<F>(book, ctx);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
#pragma unroll 1
  for (; unit < units; unit += step) {
    stage.store(own, ctx.lane);
    metal::simdgroup_barrier(mem_flags::mem_threadgroup);
    ColumnCodes<kTiles> x;
    x.load(codes + long(ctx.tg.y) * long((units + 1u) / 2u * uint(kTiles) * 32u),
           scales + long(ctx.tg.y) * long(units * (kColumns / 2u)), unit, units, ctx.lane);
    long next = start + long(ctx.nsg) * Stage::bytes;
    if (unit + step < units) {
      stage.load(weight, next, p.stride, last, units - unit - step, p.end, ctx.lane);
    }
    stage_steps<F, kWhole, kAlignment>(own, start, p.stride, last, units - unit, ctx.lane);
#pragma unroll
    for (uint n = 0u; n < uint(kTiles); ++n) own_scales[32u * n + ctx.lane] = x.scales[n];
    metal::simdgroup_barrier(mem_flags::mem_threadgroup);
    multiply_piece<F, kTiles, kWhole, kAlignment>(sums, (threadgroup const uint*)book, own, start,
                                                  p.stride, last, x.pair, own_scales, ctx.lane);
    metal::simdgroup_barrier(mem_flags::mem_threadgroup);
    start = next;
  }

  // Sums of the simdgroups, in the place of what they staged: [simdgroup, output, column].
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup float* parts = (threadgroup float*)staged;
  const uint kPart = uint(kTileRows) * kColumns;
#pragma unroll
  for (uint i = 0u; i < 4u * uint(kTiles); ++i) {
    uint output = (ctx.lane >> 2) + 8u * ((i >> 1) & 1u);
    uint column = 8u * (i >> 2) + 2u * (ctx.lane & 3u) + (i & 1u);
    parts[ctx.sg * kPart + output * kColumns + column] = sums[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = ctx.tid.x; i < kPart; i += ctx.ntid.x) {
    uint output = i % uint(kTileRows), column = i / uint(kTileRows);
    uint row_of = ctx.tg.y * kColumns + column;
    if (output > last || long(row_of) >= p.rows) continue;
    float sum = 0.0f;
    for (uint part = 0u; part < ctx.nsg; ++part)
      sum += parts[part * kPart + output * kColumns + column];
    long at = long(row_of) * p.outputs + first + long(output);
    if (kBias) sum += float(D::load(bias[first + long(output)]));
    if (kAdded) sum += float(D::load(added[at]));
    y[at] = D::store(sum);
  }
}
