// What argmax and argmin accumulate: a value and where it was found. Text of the kernel dialect,
// after a generated part that defines
//   position          the unsigned integer that holds every index
//   Compared, Bits    the type that elements are compared in, and the unsigned integer of its size
//   Word, Kept        an unsigned integer that holds Bits and positions, and a vector of two
//   kSmallest         true for argmin
//   region_worst()    a value that no other one is worse than
//   Index             the dtype of the result
// and in front of the reductions, which see it as any other accumulator.
//
// The lowest index of the best value wins, so the order of combining does not matter; a NaN is the
// best value, the first one of them. Index ~0 stands for no element.

struct Accumulator {
  Compared value;
  position at;
};

HEARTH_INLINE Accumulator region_lift(Compared value, position at) {
  Accumulator x;
  x.value = value;
  x.at = at;
  return x;
}
HEARTH_INLINE Accumulator region_identity() { return region_lift(region_worst(), ~position(0)); }

// NaN: of integers never.
template <class T>
HEARTH_INLINE bool is_unordered(T x) {
  return x != x;
}

HEARTH_INLINE Accumulator region_combine(Accumulator a, Accumulator b) {
  bool earlier = b.at < a.at;
  bool better = kSmallest ? b.value < a.value : b.value > a.value;
  bool nan_a = is_unordered(a.value), nan_b = is_unordered(b.value);
  bool takes = better || (b.value == a.value && earlier) || (nan_b && (!nan_a || earlier));
  Accumulator x;
  x.value = takes ? b.value : a.value;
  x.at = takes ? b.at : a.at;
  return x;
}

HEARTH_INLINE Accumulator shuffle_xor(Accumulator x, ushort mask) {
  return region_lift(shuffle_xor(x.value, mask), shuffle_xor(x.at, mask));
}

HEARTH_INLINE Kept region_keep(Accumulator x) {
  Kept words;
  words.x = Word(as_type<Bits>(x.value));
  words.y = Word(x.at);
  return words;
}
HEARTH_INLINE Accumulator region_kept(Kept words) {
  return region_lift(as_type<Compared>(Bits(words.x)), position(words.y));
}

// What is stored: partial results as they are, results as indices.
struct Partial {
  typedef Kept memory;
  static HEARTH_INLINE Kept store(Accumulator x) { return region_keep(x); }
};
struct Found {
  typedef Index::memory memory;
  static HEARTH_INLINE memory store(Accumulator x) { return Index::store(Index::value(x.at)); }
};
