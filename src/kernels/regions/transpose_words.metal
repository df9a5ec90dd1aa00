// Squares of elements in threadgroup memory, filled along one axis and read along the other: what
// transpose.metal turns operands with. Text of the kernel dialect, after kernels/blocks/elements.h
// and the types `position` and `offset_t`.

constexpr constant uint kTileThreads = 256u;

// How elements of kBytes lie in a tile, in vectors of kWidth.
template <int kBytes, int kWidth>
struct TileWord {
  typedef uint type;
  enum { per = kWidth > 1 && kBytes < 4 ? 4 / kBytes : 1 };
  static HEARTH_INLINE type of(thread const uint* words, int w) { return words[w]; }
};
template <int kWidth>
struct TileWord<8, kWidth> {
  typedef ulong type;
  enum { per = 1 };
  static HEARTH_INLINE type of(thread const uint* words, int w) { return Elements8::get(words, w); }
};

// Place `slot` of a grid of `vectors` vectors across: as many side by side as fill 128 bytes.
template <int kWidth>
HEARTH_INLINE uint2 tile_place(uint slot, uint vectors) {
  uint across = kWidth >= 4 ? 8u : 32u / uint(kWidth);
  uint down = 32u / across;
  uint lane = slot % 32u, block = slot / 32u;
  uint blocks = vectors / across;
  return uint2(block / blocks * down + lane / across, block % blocks * across + lane % across);
}

// Reads what lies at x + column * stride + row, for `columns` and `rows` from there on.
template <typename D, int kBytes, int kWidth, int kEdge>
HEARTH_INLINE void tile_fill(device const typename D::memory* x, offset_t stride, position rows,
                             position columns,
                             threadgroup typename TileWord<kBytes, kWidth>::type* tile,
                             uint thread_index) {
  typedef TileWord<kBytes, kWidth> Word;
  constexpr int kLoads = kEdge * kEdge / kWidth / int(kTileThreads);
  constexpr uint kPitch = uint(kEdge / Word::per + 1);
  Packet<kBytes * kWidth> in[kLoads];
#pragma unroll
  for (int u = 0; u < kLoads; ++u) {
    uint2 place = tile_place<kWidth>(uint(u) * kTileThreads + thread_index, uint(kEdge / kWidth));
    uint row = place.y * uint(kWidth);
    if (place.x < columns && row < rows) {
      in[u] = Packet<kBytes * kWidth>::read(x + offset_t(place.x) * stride + offset_t(row));
    }
  }
#pragma unroll
  for (int u = 0; u < kLoads; ++u) {
    uint2 place = tile_place<kWidth>(uint(u) * kTileThreads + thread_index, uint(kEdge / kWidth));
    uint row = place.y * uint(kWidth);
    if (place.x < columns && row < rows) {
#pragma unroll
      for (int w = 0; w < kWidth / Word::per; ++w) {
        tile[place.x * kPitch + row / uint(Word::per) + uint(w)] = Word::of(in[u].word, w);
      }
    }
  }
}

// The elements of kDeep rows from `row` on, each a vector from `column` on.
template <typename D, int kBytes, int kWidth, int kEdge, int kDeep>
HEARTH_INLINE void tile_take(thread Packet<kBytes * kWidth>* out, uint row, uint column,
                             threadgroup const typename TileWord<kBytes, kWidth>::type* tile) {
  typedef TileWord<kBytes, kWidth> Word;
  constexpr uint kPitch = uint(kEdge / Word::per + 1);
#pragma unroll
  for (int q = 0; q < kDeep / Word::per; ++q) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      typename Word::type word =
          tile[(column + uint(i)) * kPitch + row / uint(Word::per) + uint(q)];
#pragma unroll
      for (int r = 0; r < Word::per; ++r) {
        D::packed::put(out[q * Word::per + r].word, i, word >> (8 * kBytes * r));
      }
    }
  }
}
