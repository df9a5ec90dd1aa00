// Rows and numbers to rows. Included like row_vectors-inl.h.

#if defined(HEARTH_DEVICES_CPU_ROWS_ROW_MAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_DEVICES_CPU_ROWS_ROW_MAPS_INL_H_
#undef HEARTH_DEVICES_CPU_ROWS_ROW_MAPS_INL_H_
#else
#define HEARTH_DEVICES_CPU_ROWS_ROW_MAPS_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <limits>

#include "devices/cpu/rows/row_math.h"
#include "devices/cpu/rows/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void scale(const T* x, T factor, T* out, int64_t n, bool stream) {
  const auto f = hn::Set(Tag<T>(), factor);
  each<T>(n, out, stream,
          [=](auto io, int64_t i) ROW_BODY { io.store(hn::Mul(io.load(x + i), f), out + i); });
}

template <class T>
void shift(const T* x, T a, T b, T* out, int64_t n, bool stream) {
  const auto va = hn::Set(Tag<T>(), a), vb = hn::Set(Tag<T>(), b);
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Sub(hn::Sub(io.load(x + i), va), vb), out + i);
  });
}

template <class T>
struct NormalVectors {
  Vector<T> mean, factor, rest;
  explicit HWY_INLINE NormalVectors(Normal<T> normal)
      : mean(hn::Set(Tag<T>(), normal.mean)),
        factor(hn::Set(Tag<T>(), normal.factor)),
        rest(hn::Set(Tag<T>(), normal.rest)) {}
  HWY_INLINE Vector<T> apply(Vector<T> x) const {
    return hn::MulAdd(hn::Sub(x, mean), factor, rest);
  }
};

template <class T>
void normalize(const T* x, Normal<T> normal, const T* weight, const T* bias, T* out, int64_t n,
               bool stream, const T* ahead) {
  const NormalVectors<T> z(normal);
  if (weight != nullptr && bias != nullptr) {
    each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
      fetch(ahead, i);
      const auto h = z.apply(io.load(x + i));
      io.store(hn::MulAdd(h, io.load(weight + i), io.load(bias + i)), out + i);
    });
  } else if (weight != nullptr) {
    each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
      fetch(ahead, i);
      const auto h = z.apply(io.load(x + i));
      io.store(hn::Mul(h, io.load(weight + i)), out + i);
    });
  } else {
    each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
      fetch(ahead, i);
      auto h = z.apply(io.load(x + i));
      if (bias != nullptr) h = hn::Add(h, io.load(bias + i));
      io.store(h, out + i);
    });
  }
}

template <class T>
void softmax_backward(const T* grad, const T* y, T dot, T* out, int64_t n, bool stream) {
  const auto s = hn::Set(Tag<T>(), dot);
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Mul(io.load(y + i), hn::Sub(io.load(grad + i), s)), out + i);
  });
}

template <class T>
void log_softmax_backward(const T* grad, const T* y, T sum, T* out, int64_t n, bool stream) {
  const auto s = hn::Set(Tag<T>(), sum);
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::NegMulAdd(exp(io.load(y + i)), s, io.load(grad + i)), out + i);
  });
}

template <class T>
void norm_backward_sums(const T* grad, const T* x, const T* weight, Normal<T> normal, T* dweight,
                        T* dbias, int64_t n, T* sums) {
  const NormalVectors<T> z(normal);
  sum_blocks<T>(n, sums, [=](int64_t begin, int64_t end, T* block) ROW_BODY {
    const Tag<T> d;
    auto s0 = hn::Zero(d), s1 = hn::Zero(d);
    each<T>(end - begin, [&](auto io, int64_t at) ROW_BODY {
      const int64_t i = begin + at;
      auto g = io.load(grad + i);
      const auto h = z.apply(io.load(x + i));
      io.store(hn::MulAdd(g, h, io.load(dweight + i)), dweight + i);
      if (dbias != nullptr) io.store(hn::Add(g, io.load(dbias + i)), dbias + i);
      if (weight != nullptr) g = hn::Mul(g, io.load(weight + i));
      s0 = hn::Add(s0, g);
      s1 = hn::MulAdd(g, h, s1);
    });
    block[0] = hn::GetLane(hn::SumOfLanes(d, s0));
    block[1] = hn::GetLane(hn::SumOfLanes(d, s1));
  });
}

template <class T>
void norm_backward(const T* grad, const T* x, const T* weight, Normal<T> normal, T a, T b, T* out,
                   int64_t n, bool stream) {
  const Tag<T> d;
  const NormalVectors<T> z(normal);
  const auto va = hn::Set(d, a), vb = hn::Set(d, b);
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    auto g = io.load(grad + i);
    if (weight != nullptr) g = hn::Mul(g, io.load(weight + i));
    const auto h = z.apply(io.load(x + i));
    io.store(hn::Mul(z.factor, hn::NegMulAdd(h, vb, hn::Sub(g, va))), out + i);
  });
}

template <class T>
void add_to(T* sum, const T* x, int64_t n) {
  each<T>(n, [=](auto io, int64_t i)
                 ROW_BODY { io.store(hn::Add(io.load(sum + i), io.load(x + i)), sum + i); });
}

template <class T>
void hide(T* x, const uint8_t* mask, int64_t n) {
  const Tag<T> d;
  const hn::Rebind<uint8_t, Tag<T>> narrow;
  const hn::RebindToUnsigned<Tag<T>> wide;
  const auto none = hn::Set(d, -std::numeric_limits<T>::infinity());
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::Vec<decltype(wide)> words;
    if constexpr (sizeof(T) == 4) {
      words = hn::PromoteTo(wide, hn::LoadU(narrow, mask + i));
    } else {
      const hn::Rebind<uint32_t, Tag<T>> between;
      words = hn::PromoteTo(wide, hn::PromoteTo(between, hn::LoadU(narrow, mask + i)));
    }
    const auto seen = hn::RebindMask(d, hn::Eq(words, hn::Zero(wide)));
    hn::StoreU(hn::IfThenElse(seen, hn::LoadU(d, x + i), none), d, x + i);
  }
  for (; i < n; ++i) x[i] = mask[i] != 0 ? -std::numeric_limits<T>::infinity() : x[i];
}

template <class T>
void axpy(T* sum, T factor, const T* x, int64_t n) {
  const auto f = hn::Set(Tag<T>(), factor);
  each<T>(n, [=](auto io, int64_t i)
                 ROW_BODY { io.store(hn::MulAdd(f, io.load(x + i), io.load(sum + i)), sum + i); });
}

template <class T>
void axpy_rows(T* sum, const T* factors, const T* rows, int64_t stride, int64_t count, int64_t n) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    auto s0 = hn::LoadU(d, sum + i), s1 = hn::LoadU(d, sum + i + lanes);
    auto s2 = hn::LoadU(d, sum + i + 2 * lanes), s3 = hn::LoadU(d, sum + i + 3 * lanes);
    for (int64_t r = 0; r < count; ++r) {
      const auto f = hn::Set(d, factors[r]);
      const T* const row = rows + r * stride + i;
      s0 = hn::MulAdd(f, hn::LoadU(d, row), s0);
      s1 = hn::MulAdd(f, hn::LoadU(d, row + lanes), s1);
      s2 = hn::MulAdd(f, hn::LoadU(d, row + 2 * lanes), s2);
      s3 = hn::MulAdd(f, hn::LoadU(d, row + 3 * lanes), s3);
    }
    hn::StoreU(s0, d, sum + i);
    hn::StoreU(s1, d, sum + i + lanes);
    hn::StoreU(s2, d, sum + i + 2 * lanes);
    hn::StoreU(s3, d, sum + i + 3 * lanes);
  }
  if (i == n) return;
  for (int64_t r = 0; r < count; ++r) axpy(sum + i, factors[r], rows + r * stride + i, n - i);
}

template <class T>
void rotate(const T* x0, const T* x1, const T* c, const T* s, T* y0, T* y1, int64_t n) {
  each<T>(n, [=](auto io, int64_t i) ROW_BODY {
    const auto a = io.load(x0 + i), b = io.load(x1 + i);
    const auto vc = io.load(c + i), vs = io.load(s + i);
    io.store(hn::NegMulAdd(b, vs, hn::Mul(a, vc)), y0 + i);
    io.store(hn::MulAdd(a, vs, hn::Mul(b, vc)), y1 + i);
  });
}

// Interleaving four rows twice interleaves sixteen: the rows j, j + 4, j + 8, j + 12 for each j,
// then the four results.
template <class T>
void transpose16(const T* const* rows, int64_t n, T* out, int64_t out_stride) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T first[4][4 * hn::MaxLanes(Tag<T>())];
  HWY_ALIGN T second[16 * hn::MaxLanes(Tag<T>())];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int j = 0; j < 4; ++j) {
      hn::StoreInterleaved4(hn::LoadU(d, rows[j] + i), hn::LoadU(d, rows[j + 4] + i),
                            hn::LoadU(d, rows[j + 8] + i), hn::LoadU(d, rows[j + 12] + i), d,
                            first[j]);
    }
    for (int v = 0; v < 4; ++v) {
      hn::StoreInterleaved4(hn::Load(d, first[0] + v * lanes), hn::Load(d, first[1] + v * lanes),
                            hn::Load(d, first[2] + v * lanes), hn::Load(d, first[3] + v * lanes), d,
                            second + 4 * v * lanes);
    }
    for (int64_t at = 0; at < lanes; ++at) {
      std::memcpy(out + (i + at) * out_stride, second + 16 * at, 16 * sizeof(T));
    }
  }
  for (; i < n; ++i) {
    for (int r = 0; r < 16; ++r) out[i * out_stride + r] = rows[r][i];
  }
}

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
