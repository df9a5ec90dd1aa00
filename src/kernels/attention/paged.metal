// What the kernels of paged_attention share, and which rows they take: a unit is one row of a
// sequence of few rows, all heads of which are made together; a tile is some rows of a sequence of
// more, 1 << p.tile_shift at most. Text of the kernel dialect.

#include "kernels/attention/scores.metal"

// A number, cut to [low, high].
inline int paged_number(device const int* from, constant PagedNumbers& n, long row, long column,
                        long low, long high) {
  device const int* at = from + n.base + row * n.row + column * n.column;
  long value = n.words == 1 ? long(at[0]) : long((ulong(uint(at[1])) << 32) | ulong(uint(at[0])));
  return int(value < low ? low : value > high ? high : value);
}

// The slot of key `key` of a sequence, -1 where its page is none.
inline int paged_slot(device const int* pages, long sequence, int key,
                      constant PagedAttentionParams& p) {
  int page = int(uint(key) / uint(p.page_size));
  int number = paged_number(pages, p.pages, sequence, page, -1, p.page_count);
  if (number < 0 || number >= int(p.page_count)) return -1;
  return number * int(p.page_size) + (key - page * int(p.page_size));
}

// The first key that a row at a position sees.
inline int paged_begin(int position, constant PagedAttentionParams& p) {
  long first = p.window > 0 ? long(position) + 1 - p.window : 0;
  return first < 0 ? 0 : int(first);
}

// A product of q and k as a score, times log2(e).
template <typename C, bool kSoftcap>
HEARTH_INLINE C paged_score(C product, C scale, C softcap) {
  C score = product * scale;
  if (kSoftcap) score = softcap * metal::tanh(score);
  return score;
}

inline int paged_start(device const int* starts, long i, constant PagedAttentionParams& p) {
  return paged_number(starts, p.starts, 0, i, 0, p.rows);
}

HEARTH_INLINE void paged_entry(device int* to, long i, int a, int b, int c) {
  to[i * kPagedEntry] = a;
  to[i * kPagedEntry + 1] = b;
  to[i * kPagedEntry + 2] = c;
}

// One simdgroup lists units, as sequence, row and position, and tiles, as sequence, first row and
// the rows from it on with the sequence's end as position of the first; the sequence of what is no
// one's is -1, and rows that are none -1. A lane takes sequences that follow each other: starts
// count as no less than those before them, so that maxima and counts are summed up over lanes.
// Rows of no sequence are tiles where there are any, else units. Bound by latency.
template <bool kTiles>
void paged_plan(device const int* starts, device const int* lengths, device int* units,
                device int* tiles, constant PagedAttentionParams& p, Ctx ctx) {
  long each = (p.sequences + 31) / 32, from = metal::min(long(ctx.lane) * each, p.sequences);
  long to = metal::min(from + each, p.sequences);
  int most = 1 << int(p.tile_shift);
  int zero = paged_start(starts, 0, p), high = 0;
#pragma unroll 4
  for (long s = from; s < to; ++s) high = metal::max(high, paged_start(starts, s + 1, p));
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    int other = simd_shuffle_up(high, ushort(distance));
    if (ctx.lane >= uint(distance)) high = metal::max(high, other);
  }
  int before = simd_shuffle_up(high, ushort(1));
  int first = metal::max(ctx.lane == 0u ? 0 : before, zero);
  int end_of_all = metal::max(simd_shuffle(high, ushort(31)), zero);

  int own_units = 0, own_tiles = 0, begin = first;
#pragma unroll 4
  for (long s = from; s < to; ++s) {
    int end = metal::max(begin, paged_start(starts, s + 1, p)), count = end - begin;
    begin = end;
    if (!kTiles || long(count) <= p.few) {
      own_units += count;
    } else {
      own_tiles += (count + most - 1) >> int(p.tile_shift);
    }
  }
  int unit = simd_prefix_exclusive_sum(own_units), tile = simd_prefix_exclusive_sum(own_tiles);
  int unit_count = simd_shuffle(unit + own_units, ushort(31));
  int tile_count = simd_shuffle(tile + own_tiles, ushort(31));
  begin = first;
  for (long s = from; s < to; ++s) {
    int end = metal::max(begin, paged_start(starts, s + 1, p)), count = end - begin;
    int length = paged_number(lengths, p.lengths, 0, s, 0, p.most * p.page_size);
    if (!kTiles || long(count) <= p.few) {
      for (int i = 0; i < count; ++i) {
        paged_entry(units, unit, int(s), begin + i, length - count + i);
        ++unit;
      }
    } else {
      for (int i = 0; i < count; i += most) {
        paged_entry(tiles, tile, int(s), begin + i, length - count + i);
        tiles[long(tile) * kPagedEntry + 3] = metal::min(count - i, most);
        ++tile;
      }
    }
    begin = end;
  }

  // Rows before the first sequence and after the last one.
  int lane = int(ctx.lane), rows = int(p.rows);
  if (kTiles) {
    int head = (zero + most - 1) >> int(p.tile_shift);
    int tail = (rows - end_of_all + most - 1) >> int(p.tile_shift);
    for (int i = lane; i < head + tail; i += 32) {
      int row = i < head ? i * most : end_of_all + (i - head) * most;
      paged_entry(tiles, tile_count + i, -1, row, 0);
      tiles[long(tile_count + i) * kPagedEntry + 3] =
          metal::min((i < head ? zero : rows) - row, most);
    }
    for (long i = tile_count + head + tail + lane; i < p.tiles; i += 32) {
      tiles[i * kPagedEntry + 3] = 0;
    }
  } else {
    int tail = rows - end_of_all;
    for (int i = lane; i < zero + tail; i += 32) {
      paged_entry(units, unit_count + i, -1, i < zero ? i : end_of_all + i - zero, -1);
    }
    unit_count += zero + tail;
  }
  for (long i = unit_count + lane; i < p.units; i += 32) paged_entry(units, i, -1, -1, -1);
}
