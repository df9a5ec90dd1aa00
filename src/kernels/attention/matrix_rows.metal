// What kernels share that make scores and sums of a few queries by tensor cores, in the layout that
// flash_decoding_mma.metal describes. Text of the kernel dialect.

#include "kernels/blocks/mma.h"

enum { kTileKeys = 16, kChunk = 64 };

// kCount vectors of a row, `step` elements apart from `column` on.
template <bool kWhole, int kCount, typename M>
inline void load_vectors(thread Packet<16>* to, device const M* row, uint column, uint step,
                         uint last) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    uint at = column + uint(i) * step;
    to[i] = Packet<16>::read(row + (kWhole ? at : metal::min(at, last)));
  }
}

inline uint lower_halves(uint a, uint b) { return (a & 0xffffu) | (b << 16); }
inline uint upper_halves(uint a, uint b) { return (a >> 16) | (b & 0xffff0000u); }

// Two weights as a word; `a` and `b` become what is left of them.
template <typename D>
inline uint rounded_pair(thread float& a, thread float& b) {
  uint word = 0u;
  D::put(&word, 0, a);
  D::put(&word, 1, b);
  a = D::get(&word, 0);
  b = D::get(&word, 1);
  return word;
}

// Adds up what the simdgroups have of each query, in order and on a common maximum, and writes it
// as line `line` + `hop` times the query. Threadgroup memory holds kPass chunks of columns at a
// time: kSimdgroups * kQueries * (64 kPass + 6) floats. kSplit: lanes have columns of a split cache
// (cache_vectors.metal).
template <int kSimdgroups, int kChunks, int kPass, int kQueries, bool kWhole, bool kSplit = false>
inline void join_simdgroups(thread const float4* sum, float best, float total, uint queries,
                            device float* parts, device float* row_stats, long line, long hop,
                            uint columns, threadgroup float* shared, thread const Ctx& ctx) {
  const uint kVectors = kPass * kChunk / 4, kStride = kPass * kChunk + 4;
  threadgroup float* shared_marks = shared + kSimdgroups * kQueries * kStride;
  uint g = ctx.lane / 4u, t = ctx.lane % 4u;
  total = total + simd_shuffle_xor(total, ushort(1));
  total = total + simd_shuffle_xor(total, ushort(2));
  if (t == 0u && g < kQueries) {
    shared_marks[(ctx.sg * kQueries + g) * 2u] = best;
    shared_marks[(ctx.sg * kQueries + g) * 2u + 1u] = total;
  }
#pragma unroll
  for (int pass = 0; pass < kChunks; pass += kPass) {
    if (pass > 0) threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint e = 0; e < 2; ++e) {
      if (2u * t + e < queries) {
        uint first = kSplit ? 32u * (g / 4u) + 4u * (g % 4u) : 8u * g;
        threadgroup float* to = shared + (ctx.sg * kQueries + 2u * t + e) * kStride + first;
#pragma unroll
        for (int c = 0; c < kPass; ++c) {
#pragma unroll
          for (int j = 0; j < 4; j += 2) {
            float4 low = sum[4 * (pass + c) + j], high = sum[4 * (pass + c) + j + 1];
            *(threadgroup float4*)(to + c * kChunk + (kSplit ? 8 : 2) * j) =
                e == 0u ? float4(low.x, low.z, high.x, high.z)
                        : float4(low.y, low.w, high.y, high.w);
          }
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll 1
    for (uint i = ctx.tid.x; i < queries * kVectors; i += 32u * uint(kSimdgroups)) {
      uint query = i / kVectors, column = i % kVectors * 4u;
      float all = -INFINITY;
#pragma unroll
      for (uint s = 0; s < uint(kSimdgroups); ++s) {
        all = metal::max(all, shared_marks[(s * kQueries + query) * 2u]);
      }
      float common = all == -INFINITY ? 0.0f : all, whole = 0.0f;
      float4 value = float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (uint s = 0; s < uint(kSimdgroups); ++s) {
        uint from = s * kQueries + query;
        float share = metal::fast::exp2(shared_marks[from * 2u] - common);
        float4 more = *(threadgroup const float4*)(shared + from * kStride + column);
        value = float4(metal::fma(more.x, share, value.x), metal::fma(more.y, share, value.y),
                       metal::fma(more.z, share, value.z), metal::fma(more.w, share, value.w));
        whole = metal::fma(shared_marks[from * 2u + 1u], share, whole);
      }
      long to = line + long(query) * hop;
      uint at = uint(pass * kChunk) + column;
      if (kWhole || at < columns) *(device float4*)(parts + to * long(columns) + long(at)) = value;
      if (at == 0u) {
        row_stats[to * 2] = all;
        row_stats[to * 2 + 1] = whole;
      }
    }
  }
}
