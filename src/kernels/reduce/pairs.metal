// The parts of a vector's elements in pairs, far ones first: element i with i + kWidth / 2 and so
// on. Written out by the compiler, so that parts are registers. Text of the kernel dialect, after
// what rows.metal asks for.

template <int kWidth, int kStep>
struct RegionPairs {
  static HEARTH_INLINE Accumulator combined(thread const Accumulator* part) {
    return region_combine(RegionPairs<kWidth, 2 * kStep>::combined(part),
                          RegionPairs<kWidth, 2 * kStep>::combined(part + kStep));
  }
};
template <int kWidth>
struct RegionPairs<kWidth, kWidth> {
  static HEARTH_INLINE Accumulator combined(thread const Accumulator* part) { return part[0]; }
};
