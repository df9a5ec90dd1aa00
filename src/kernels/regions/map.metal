// Elementwise regions. Text of the kernel dialect, after a generated part that defines
//   position, offset_t          unsigned and signed integers that hold every index of this region
//   RegionParams                vectors, tail; what offsets_at() needs
//   Operands                    pointers, scalars, and inputs of one element
//   Inputs, Outputs             what a thread loads and stores for one vector
//   Offsets region_at(v, p)     where the elements of vector v lie
//   region_load, region_values (of element i), region_put, region_store
// and, where extents need not be whole vectors, HEARTH_REGION_TAIL as 1 and
//   region_tail(o, e)           element e alone
//
// A vector is kWidth neighbouring elements, 16 bytes of the widest operand. A thread takes kUnroll
// vectors, a threadgroup apart, and loads all of them before it computes: that keeps enough bytes
// in flight. Each element is read and written once; bound by memory unless the region is long.

template <int kWidth, int kUnroll>
inline void region_map(thread const Operands& o, constant RegionParams& p, Ctx ctx) {
  position first = position(ctx.tg.x) * (ctx.ntid.x * uint(kUnroll)) + ctx.tid.x;
  Inputs in[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    position v = first + position(u) * ctx.ntid.x;
    if (v < p.vectors) region_load(in[u], o, region_at(v, p));
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    position v = first + position(u) * ctx.ntid.x;
    if (v < p.vectors) {
      Outputs out;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) region_put(out, i, region_values(in[u], i, o));
      region_store(out, o, region_at(v, p));
    }
  }
#if HEARTH_REGION_TAIL
  if (ctx.tg.x == 0u && ctx.tid.x < p.tail) {
    region_tail(o, p.vectors * position(kWidth) + ctx.tid.x);
  }
#endif
}
