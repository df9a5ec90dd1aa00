// Loops by hand for one instruction set; included once for each by limits.cc, which defines
// HEARTH_LOOPS_WIDTH (floats in a register: 16, 8, or 1 for plain C++) and the functions' target.
// No include guard. Counts are multiples of 16, arrays are aligned to 64 bytes.

#if HEARTH_LOOPS_WIDTH == 16
namespace avx512 {
using Vector = __m512;
inline Vector load(const float* from) { return _mm512_load_ps(from); }
inline void store(float* to, Vector v) { _mm512_store_ps(to, v); }
inline void stream(float* to, Vector v) { _mm512_stream_ps(to, v); }
inline Vector splat(float x) { return _mm512_set1_ps(x); }
inline Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
#elif HEARTH_LOOPS_WIDTH == 8
namespace avx2 {
using Vector = __m256;
inline Vector load(const float* from) { return _mm256_load_ps(from); }
inline void store(float* to, Vector v) { _mm256_store_ps(to, v); }
inline void stream(float* to, Vector v) { _mm256_stream_ps(to, v); }
inline Vector splat(float x) { return _mm256_set1_ps(x); }
inline Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
#else
namespace plain {
using Vector = float;
inline Vector load(const float* from) { return *from; }
inline void store(float* to, Vector v) { *to = v; }
inline void stream(float* to, Vector v) { *to = v; }
inline Vector splat(float x) { return x; }
inline Vector fma(Vector a, Vector b, Vector c) { return a * b + c; }
#endif

using Function = Vector (*)(Vector);
inline constexpr std::int64_t kWidth = HEARTH_LOOPS_WIDTH;

template <bool kStream>
inline void put(float* to, Vector v) {
  if constexpr (kStream) {
    stream(to, v);
  } else {
    store(to, v);
  }
}

// Ordinary stores are fenced by nothing; streamed ones must be seen by whoever reads next.
template <bool kStream>
inline void settle() {
#if HEARTH_LOOPS_WIDTH > 1
  if constexpr (kStream) _mm_sfence();
#endif
}

// One stream.
inline void read_forward(const float* a, std::int64_t count, float& total) {
  Vector sums[8];
  for (Vector& sum : sums) sum = splat(0);
  std::int64_t i = 0;
  for (; i + 8 * kWidth <= count; i += 8 * kWidth) {
    for (int s = 0; s < 8; ++s) sums[s] = sums[s] + load(a + i + s * kWidth);
  }
  for (; i < count; i += kWidth) sums[0] = sums[0] + load(a + i);
  for (int s = 1; s < 8; ++s) sums[0] = sums[0] + sums[s];
  alignas(64) float lanes[16] = {};
  store(lanes, sums[0]);
  for (const float lane : lanes) total += lane;
}

// Four streams, so that several pages are fetched ahead at once.
inline void read_streams(const float* a, std::int64_t count, float& total) {
  const std::int64_t part = count / 64 * 16;
  Vector sums[8];
  for (Vector& sum : sums) sum = splat(0);
  std::int64_t i = 0;
  for (; i + 2 * kWidth <= part; i += 2 * kWidth) {
    for (int s = 0; s < 4; ++s) {
      sums[2 * s] = sums[2 * s] + load(a + s * part + i);
      sums[2 * s + 1] = sums[2 * s + 1] + load(a + s * part + i + kWidth);
    }
  }
  for (; i < part; i += kWidth) {
    for (int s = 0; s < 4; ++s) sums[s] = sums[s] + load(a + s * part + i);
  }
  for (i = 4 * part; i < count; i += kWidth) sums[0] = sums[0] + load(a + i);
  for (int s = 1; s < 8; ++s) sums[0] = sums[0] + sums[s];
  alignas(64) float lanes[16] = {};
  store(lanes, sums[0]);
  for (const float lane : lanes) total += lane;
}

template <bool kStream>
void copy(float* out, const float* a, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kWidth) put<kStream>(out + i, load(a + i));
  settle<kStream>();
}

template <bool kStream>
void triad(float* out, const float* a, const float* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kWidth) put<kStream>(out + i, load(a + i) + load(b + i));
  settle<kStream>();
}

// (a*b+c)*d-a+0.5*c
template <bool kStream>
void polynomial(float* out, const float* a, const float* b, const float* c, const float* d,
                std::int64_t count) {
  const Vector half = splat(0.5F);
  for (std::int64_t i = 0; i < count; i += kWidth) {
    const Vector x = load(a + i);
    const Vector z = load(c + i);
    const Vector inner = fma(fma(x, load(b + i), z), load(d + i), splat(0) - x);
    put<kStream>(out + i, fma(half, z, inner));
  }
  settle<kStream>();
}

// tanh(a*b+1.5)*sigmoid(a-b)+exp(-a*a)*0.5
template <bool kStream>
void transcendental(float* out, const float* a, const float* b, std::int64_t count,
                    Function exponential, Function hyperbolic) {
  const Vector one = splat(1);
  const Vector zero = splat(0);
  for (std::int64_t i = 0; i < count; i += kWidth) {
    const Vector x = load(a + i);
    const Vector y = load(b + i);
    const Vector left = hyperbolic(fma(x, y, splat(1.5F)));
    const Vector gate = one / (one + exponential(y - x));
    const Vector bell = exponential((zero - x) * x);
    put<kStream>(out + i, fma(bell, splat(0.5F), left * gate));
  }
  settle<kStream>();
}

inline void map(float* out, const float* a, std::int64_t count, Function function) {
  for (std::int64_t i = 0; i < count; i += kWidth) store(out + i, function(load(a + i)));
}

}  // namespace avx512, avx2 or plain
