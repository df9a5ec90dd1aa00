// Elementwise regions with operands whose memory runs along another axis than the outputs'. Text of
// the kernel dialect; see map.metal for what the generated part defines, and beside it
//   Tiles                              the threadgroup array of each tiled operand
//   Offsets tile_group(g, p)           where part g of the axes that are not tiled lies
//   Offsets tile_at(at, row, column, p)
//   region_fill(o, at, rows, columns, p, tiles, thread)    reads tiled operands
//   region_take(in, row, column, tiles)                    their elements, for kDeep rows
//
// Columns are the innermost axis of the outputs, rows the axis along which tiled operands are
// contiguous. A threadgroup takes a square of kEdge rows and columns: it reads tiled operands in
// vectors along rows, keeps them in threadgroup memory, and takes them out in vectors along
// columns. A simdgroup's accesses are 8 vectors of 16 bytes across and 4 down, and a row of the
// tile ends in an odd word, so that lanes use different banks. Elements of less than 4 bytes lie
// packed in words, kPer neighbours along rows; a thread then takes that many rows at once.
//
// Each element is read and written once, in segments of 128 bytes and more; bound by memory.

template <int kWidth, int kEdge, int kDeep>
inline void transpose_tiles(thread const Operands& o, constant RegionParams& p, Tiles tiles,
                            Ctx ctx) {
  uint group = divided(ctx.tg.x, p.column_tiles_magic, p.column_tiles_shift);
  position first_column = position(ctx.tg.x - group * p.column_tiles) * position(kEdge);
  uint outer = divided(group, p.row_tiles_magic, p.row_tiles_shift);
  position first_row = position(group - outer * p.row_tiles) * position(kEdge);
  position rows = p.rows - first_row, columns = p.columns - first_column;
  Offsets at = tile_at(tile_group(position(outer), p), first_row, first_column, p);
  region_fill(o, at, rows, columns, p, tiles, ctx.tid.x);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  constexpr int kSlots = kEdge * kEdge / kWidth / kDeep;
  constexpr int kTakes = kSlots / int(kTileThreads) > 0 ? kSlots / int(kTileThreads) : 1;
#pragma unroll
  for (int u = 0; u < kTakes; ++u) {
    uint2 place = tile_place<kWidth>(uint(u) * kTileThreads + ctx.tid.x, uint(kEdge / kWidth));
    uint row = place.x * uint(kDeep), column = place.y * uint(kWidth);
    if (row < rows && column < columns && row < uint(kEdge)) {
      Inputs in[kDeep];
      region_take(in, row, column, tiles);
#pragma unroll
      for (int q = 0; q < kDeep; ++q) {
        Offsets here = tile_at(at, position(row + uint(q)), position(column), p);
        region_load(in[q], o, here);
        Outputs out;
#pragma unroll
        for (int i = 0; i < kWidth; ++i) region_put(out, i, region_values(in[q], i, o));
        region_store(out, o, here);
      }
    }
  }
}
