// Where a thread is, for every kernel.
struct Ctx {
  uint3 tg;    // threadgroup in the grid
  uint3 tid;   // thread in the threadgroup
  uint3 gid;   // thread in the grid
  uint3 ntid;  // threads of a threadgroup
  uint3 ntg;   // threadgroups of the grid
  uint lane;   // thread in its simdgroup, 0 to 31
  uint sg;     // simdgroup in the threadgroup
  uint nsg;    // simdgroups of a threadgroup
};
