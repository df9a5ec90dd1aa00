// attention for many queries by simdgroup matrices: out = softmax(scores(q k^T)) v for f32 and the
// 16-bit floats, any strides, without the scores in memory. Text of the kernel dialect.
//
// A threadgroup makes 8 kBlocks kSimdgroups rows of one head: block b of simdgroup s has the eight
// rows from 8 (b kSimdgroups + s) on. It walks over the keys that any of them sees, kKeys at a
// time, those of a causal head from its last rows on, since they take longest. Keys, then values of
// a turn lie in the same threadgroup memory, as type S. Scores, weights and the result are matrices
// of 8 x 8 in registers; so are the queries with kHeld, else they lie in threadgroup memory. What d
// and dv lack to kDepth and kColumns is 0. A simdgroup none of whose rows sees a turn's keys leaves
// it out.
//
// Nothing is assumed of which elements of a matrix a lane has, but that it has two, and in all
// matrices of float the same ones: it reads a matrix of numbers and finds out. Maxima go by
// threadgroup memory, each simdgroup's own.
//
// Memory: keys and values once for each threadgroup of the head, 8 kBlocks kSimdgroups
// multiplications an element. From threadgroup memory a matrix of keys or values for kBlocks
// products. Bound: arithmetic.
//
// Numerics: products and sums in f32, keys in ascending order, weights f32 as they are; those of
// 16-bit floats are powers of two as the hardware approximates them. Values of keys that none of a
// threadgroup's rows sees are never read; a row that sees no key is 0.

#include "kernels/attention/scores.metal"

// What exists of kLines rows, as S, in rows of kStep; 0 elsewhere. kWide: 16 bytes at a time, where
// rows begin at multiples of that and `columns` is a multiple of 8.
template <typename D, typename S, int kThreads, int kLines, int kLength, int kStep, bool kWide>
inline void stage_attention_rows(device const typename D::memory* from, long row, long column,
                                 int lines, int columns, threadgroup S* to, int thread_index) {
  const int kPacket = 16 / int(sizeof(typename D::memory)), kPackets = kLength / kPacket;
  if (kWide) {
    for (int at = thread_index; at < kLines * kPackets; at += kThreads) {
      int i = at / kPackets, first = at % kPackets * kPacket;
      Packet<16> packet;
#pragma unroll
      for (int w = 0; w < 4; ++w) packet.word[w] = 0u;
      if (i < lines && first < columns) packet = Packet<16>::read(from + (long(i) * row + first));
      if (sizeof(S) == sizeof(typename D::memory)) {
        *(threadgroup uint4*)(to + i * kStep + first) =
            uint4(packet.word[0], packet.word[1], packet.word[2], packet.word[3]);
      } else {
        threadgroup vec<S, 4>* put = (threadgroup vec<S, 4>*)(to + i * kStep + first);
#pragma unroll
        for (int j = 0; j < kPacket; j += 4) {
          vec<S, 4> four;
#pragma unroll
          for (int e = 0; e < 4; ++e) four[e] = S(D::get(packet.word, j + e));
          put[j / 4] = four;
        }
      }
    }
  } else {
    for (int at = thread_index; at < kLines * kLength; at += kThreads) {
      int i = at / kLength, c = at % kLength;
      to[i * kStep + c] =
          i < lines && c < columns ? S(D::load(from[long(i) * row + long(c) * column])) : S(0.0f);
    }
  }
}

// Powers of two as exact as the dtype needs.
template <typename D>
inline float weight_of(float exponent) {
  return sizeof(typename D::memory) == 2 ? metal::fast::exp2(exponent) : metal::exp2(exponent);
}

// Where the two elements of a lane lie. `part` is 64 floats of the simdgroup, which are free when
// all its lanes are here, and after a barrier of the simdgroup behind this.
struct MatrixPlaces {
  int row[2], column[2];

  inline MatrixPlaces(threadgroup float* part, uint lane) {
    part[lane] = float(lane);
    part[lane + 32u] = float(lane + 32u);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_matrix<float, 8, 8> numbers;
    simdgroup_load(numbers, part, 8ul);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      int place = int(numbers.thread_elements()[e]);
      row[e] = place / 8;
      column[e] = place % 8;
    }
  }
  // What the lanes have of a row, in its order, for each of both elements.
  inline void put(threadgroup float* part, thread const float* mine) const {
#pragma unroll
    for (int e = 0; e < 2; ++e) part[row[e] * 8 + column[e]] = mine[e];
  }
  inline float largest(threadgroup const float* part, int e) const {
    float4 a = *(threadgroup const float4*)(part + row[e] * 8);
    float4 b = *(threadgroup const float4*)(part + row[e] * 8 + 4);
    return metal::max(metal::max(metal::max(a.x, a.y), metal::max(a.z, a.w)),
                      metal::max(metal::max(b.x, b.y), metal::max(b.z, b.w)));
  }
  inline float total(threadgroup const float* part, int e) const {
    float4 a = *(threadgroup const float4*)(part + row[e] * 8);
    float4 b = *(threadgroup const float4*)(part + row[e] * 8 + 4);
    return ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
  }
};

// `shared` is 64 kBlocks kSimdgroups floats, then S: the larger of kKeys rows of kDepth or kColumns
// and 16 bytes, and with kHeld 8 kSimdgroups rows of kDepth and 16 bytes; without, all rows of q
// follow.
template <typename D, typename S, int kDepth, int kColumns, int kSimdgroups, int kBlocks, int kKeys,
          bool kHeld, bool kWide, bool kSoftcap, bool kMask, bool kBias, bool kRange>
void attention_simdgroup(device const typename D::memory* q, device const typename D::memory* k,
                         device const typename D::memory* v, device const uchar* mask,
                         device const typename D::memory* bias, device const int* lengths,
                         device const int* starts, device const ulong* dynamics,
                         device const typename D::memory* sinks, device typename D::memory* out,
                         constant AttentionParams& p, threadgroup float4* shared, Ctx ctx) {
  const int kThreads = 32 * kSimdgroups, kBlockRows = 8 * kSimdgroups;
  const int kPad = 16 / int(sizeof(S)), kStep = kDepth + kPad, kValueStep = kColumns + kPad;
  const int kParts = kKeys / 8, kSlices = kDepth / 8, kResults = kColumns / 8;
  const int kTurn = kKeys * (kDepth > kColumns ? kStep : kValueStep);
  threadgroup float* part = (threadgroup float*)shared + int(ctx.sg) * kBlocks * 64;
  threadgroup S* turn = (threadgroup S*)((threadgroup float*)shared + kBlockRows * kBlocks * 8);
  threadgroup S* queries = turn + kTurn;

  int thread_index = int(ctx.tid.x), own = int(ctx.sg) * 8;
  long item = long(ctx.tg.z), head = long(ctx.tg.y), kv_head = head / (p.heads / p.kv_heads);
  uint tile = p.causal != 0 ? ctx.ntg.x - 1u - ctx.tg.x : ctx.tg.x;
  ItemKeys<kRange> there(lengths, starts, item, dynamics, p);
  long first = long(tile) * (kBlockRows * kBlocks), length = there.length;
  int rows = int(metal::min(p.rows - first, long(kBlockRows * kBlocks)));
  int end = int(visible_keys(first + rows - 1, length, p));
  device const typename D::memory* query_rows = q + place_of(p.q, item, head, first);
  int begin = int(there.hidden(first, p));
  device const typename D::memory* key_rows = k + place_of(p.k, item, kv_head, begin);
  device const typename D::memory* value_rows = v + place_of(p.v, item, kv_head, begin);

  simdgroup_matrix<S, 8, 8> query[kBlocks][kHeld ? kSlices : 1];
  if (kHeld) {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      if (b > 0) threadgroup_barrier(mem_flags::mem_threadgroup);
      stage_attention_rows<D, S, kThreads, kBlockRows, kDepth, kStep, kWide>(
          query_rows + b * kBlockRows * p.q.row, p.q.row, p.q.column, rows - b * kBlockRows,
          int(p.d), turn, thread_index);
      threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
      for (int c = 0; c < kSlices; ++c) {
        simdgroup_load(query[b][kHeld ? c : 0], turn + own * kStep + 8 * c, ulong(kStep));
      }
    }
  } else {
    stage_attention_rows<D, S, kThreads, kBlockRows * kBlocks, kDepth, kStep, kWide>(
        query_rows, p.q.row, p.q.column, rows, int(p.d), queries, thread_index);
  }

  ScoreScale<float> scale(p);
  MatrixPlaces places(part, ctx.lane);
  simdgroup_matrix<float, 8, 8> sum[kBlocks][kResults];
  float best[kBlocks][2], total[kBlocks][2];
  int visible[kBlocks][2], hidden[kBlocks][2], reach = 0;
  int lowest = int(there.hidden(first + own, p));  // no row of the simdgroup sees keys before it
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (int c = 0; c < kResults; ++c) sum[b][c] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    int from = b * kBlockRows + own, last = metal::min(from + 8, rows) - 1;
    if (from <= last) reach = metal::max(reach, int(visible_keys(first + last, length, p)));
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      int row = from + places.row[e];
      visible[b][e] = row < rows ? int(visible_keys(first + row, length, p)) : 0;
      hidden[b][e] = kRange ? int(there.hidden(first + row, p)) : 0;
      best[b][e] = -INFINITY;
      total[b][e] = 0.0f;
    }
  }

  for (int key = begin; key < end; key += kKeys) {
    bool sees = key < reach && (!kRange || key + kKeys > lowest);
    simdgroup_matrix<float, 8, 8> score[kBlocks][kParts];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    stage_attention_rows<D, S, kThreads, kKeys, kDepth, kStep, kWide>(
        key_rows, p.k.row, p.k.column, end - key, int(p.d), turn, thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sees) {
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
        for (int j = 0; j < kParts; ++j) {
          score[b][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
      }
#pragma unroll
      for (int c = 0; c < kSlices; ++c) {
        if (!kHeld) {
#pragma unroll
          for (int b = 0; b < kBlocks; ++b) {
            simdgroup_load(query[b][0], queries + (b * kBlockRows + own) * kStep + 8 * c,
                           ulong(kStep));
          }
        }
#pragma unroll
        for (int j = 0; j < kParts; ++j) {
          simdgroup_matrix<S, 8, 8> right;
          simdgroup_load(right, turn + 8 * j * kStep + 8 * c, ulong(kStep), ulong2(0), true);
#pragma unroll
          for (int b = 0; b < kBlocks; ++b) {
            simdgroup_multiply_accumulate(score[b][j], query[b][kHeld ? c : 0], right, score[b][j]);
          }
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    stage_attention_rows<D, S, kThreads, kKeys, kColumns, kValueStep, kWide>(
        value_rows, p.v.row, p.v.column, end - key, int(p.dv), turn, thread_index);
    if (sees) {
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        float top[2] = {-INFINITY, -INFINITY};
#pragma unroll
        for (int j = 0; j < kParts; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            int at = key + 8 * j + places.column[e];
            long row = first + (b * kBlockRows + own + places.row[e]);
            float slope, one = -INFINITY;
            if (at < visible[b][e] && (!kRange || at >= hidden[b][e])) {
              one =
                  score_of<D, kSoftcap, kMask, kBias>(score[b][j].thread_elements()[e], scale, mask,
                                                      bias, item, head, row, long(at), p, slope);
            }
            score[b][j].thread_elements()[e] = one;
            top[e] = metal::max(top[e], one);
          }
        }
        places.put(part + 64 * b, top);
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        float shrink[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float top = metal::max(best[b][e], places.largest(part + 64 * b, e));
          float shift = top == -INFINITY ? 0.0f : top;
          shrink[e] = weight_of<D>(best[b][e] - shift);
          best[b][e] = top;
          total[b][e] = total[b][e] * shrink[e];
#pragma unroll
          for (int j = 0; j < kParts; ++j) {
            float weight = weight_of<D>(score[b][j].thread_elements()[e] - shift);
            score[b][j].thread_elements()[e] = weight;
            total[b][e] = total[b][e] + weight;
          }
        }
#pragma unroll
        for (int c = 0; c < kResults; ++c) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            sum[b][c].thread_elements()[e] = sum[b][c].thread_elements()[e] * shrink[e];
          }
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sees) {
#pragma unroll
      for (int j = 0; j < kParts; ++j) {
#pragma unroll
        for (int c = 0; c < kResults; ++c) {
          simdgroup_matrix<S, 8, 8> right;
          simdgroup_load(right, turn + 8 * j * kValueStep + 8 * c, ulong(kValueStep));
#pragma unroll
          for (int b = 0; b < kBlocks; ++b) {
            simdgroup_multiply_accumulate(sum[b][c], score[b][j], right, sum[b][c]);
          }
        }
      }
    }
    key_rows += kKeys * p.k.row;
    value_rows += kKeys * p.v.row;
  }

  simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) places.put(part + 64 * b, total[b]);
  simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      int row = b * kBlockRows + own + places.row[e];
      if (row >= rows) continue;
      float all = places.total(part + 64 * b, e);
      float share = 1.0f / (all + sink_weight<D>(sinks, head, best[b][e], scale.log2e, p));
      device typename D::memory* to =
          out + ((item * p.heads + head) * p.rows + first + row) * p.dv + places.column[e];
#pragma unroll
      for (int c = 0; c < kResults; ++c) {
        if (8 * c + places.column[e] < int(p.dv)) {
          to[8 * c] = D::store(all == 0.0f ? 0.0f : sum[b][c].thread_elements()[e] * share);
        }
      }
    }
  }
}
