// Rows that meet element by element: steps of reductions over an outer axis. Included like
// row_vectors-inl.h.

#if defined(HEARTH_DEVICES_CPU_ROWS_ROW_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_DEVICES_CPU_ROWS_ROW_STEPS_INL_H_
#undef HEARTH_DEVICES_CPU_ROWS_ROW_STEPS_INL_H_
#else
#define HEARTH_DEVICES_CPU_ROWS_ROW_STEPS_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "devices/cpu/rows/row_math.h"
#include "devices/cpu/rows/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void max_to(T* max, const T* x, int64_t n) {
  each<T>(n, [=](auto io, int64_t i)
                 ROW_BODY { io.store(hn::Max(io.load(max + i), io.load(x + i)), max + i); });
}

template <class T>
void exp_to(const T* x, const T* shift, T* sum, int64_t n, const T* ahead) {
  each<T>(n, [=](auto io, int64_t i) ROW_BODY {
    fetch(ahead, i);
    const auto v = exp(hn::Sub(io.load(x + i), io.load(shift + i)));
    io.store(hn::Add(io.load(sum + i), v), sum + i);
  });
}

template <class T>
void softmax_by(const T* x, const T* shift, const T* factor, T* out, int64_t n, bool stream,
                const T* ahead) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    fetch(ahead, i);
    const auto v = exp(hn::Sub(io.load(x + i), io.load(shift + i)));
    io.store(hn::Mul(v, io.load(factor + i)), out + i);
  });
}

template <class T>
void dot_to(T* sum, const T* a, const T* b, int64_t n) {
  each<T>(n, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::MulAdd(io.load(a + i), io.load(b + i), io.load(sum + i)), sum + i);
  });
}

// sums += x - about and squares += its square (kGrad: sums += g and squares += g * (x - about)),
// over rows: the sums of up to four vectors of columns stay in registers.
template <class T, bool kGrad, int kVectors, class Io>
HWY_INLINE void sum_columns(Io io, const T* g, int64_t g_stride, const T* x, int64_t stride,
                            int64_t rows, const T* about, T* sums, T* products) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vector<T> mean[kVectors], sum[kVectors], product[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    mean[v] = io.load(about + v * lanes);
    sum[v] = hn::Zero(d);
    product[v] = hn::Zero(d);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const auto centred = hn::Sub(io.load(x + r * stride + v * lanes), mean[v]);
      const auto term = kGrad ? io.load(g + r * g_stride + v * lanes) : centred;
      sum[v] = hn::Add(sum[v], term);
      product[v] = hn::MulAdd(term, centred, product[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    io.store(sum[v], sums + v * lanes);
    io.store(product[v], products + v * lanes);
  }
}

template <class T, bool kGrad>
void sum_rows(const T* g, int64_t g_stride, const T* x, int64_t stride, int64_t rows,
              const T* about, T* sums, T* products, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag<T>()));
  const auto run = [=]<int kVectors>(auto io, int64_t i) ROW_BODY {
    sum_columns<T, kGrad, kVectors>(io, g + i, g_stride, x + i, stride, rows, about + i, sums + i,
                                    products + i);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) run.template operator()<4>(Whole<T>{}, i);
  for (; i + lanes <= n; i += lanes) run.template operator()<1>(Whole<T>{}, i);
  if (i < n) run.template operator()<1>(Part<T>{n - i}, i);
}

template <class T>
void moment_rows(const T* x, int64_t stride, int64_t rows, const T* about, T* sums, T* squares,
                 int64_t n) {
  sum_rows<T, false>(x, stride, x, stride, rows, about, sums, squares, n);
}

template <class T>
void product_rows(const T* grad, int64_t grad_stride, const T* x, int64_t stride, int64_t rows,
                  const T* about, T* sums, T* products, int64_t n) {
  sum_rows<T, true>(grad, grad_stride, x, stride, rows, about, sums, products, n);
}

// Four vectors at a time; those at the end overlap, and what they share is written twice.
template <class T>
void weigh_rows(const T* const* rows, const T* factors, int64_t count, T start, T* out, int64_t n) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n < lanes) {
    for (int64_t i = 0; i < n; ++i) {
      T sum = start;
      for (int64_t r = 0; r < count; ++r) sum = std::fma(factors[r], rows[r][i], sum);
      out[i] = sum;
    }
    return;
  }
  const int64_t last = n - lanes;
  for (int64_t i = 0; i < n; i += 4 * lanes) {
    const int64_t i0 = i < last ? i : last, i1 = i + lanes < last ? i + lanes : last,
                  i2 = i + 2 * lanes < last ? i + 2 * lanes : last,
                  i3 = i + 3 * lanes < last ? i + 3 * lanes : last;
    auto s0 = hn::Set(d, start), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t r = 0; r < count; ++r) {
      const auto factor = hn::Set(d, factors[r]);
      const T* const row = rows[r];
      s0 = hn::MulAdd(factor, hn::LoadU(d, row + i0), s0);
      s1 = hn::MulAdd(factor, hn::LoadU(d, row + i1), s1);
      s2 = hn::MulAdd(factor, hn::LoadU(d, row + i2), s2);
      s3 = hn::MulAdd(factor, hn::LoadU(d, row + i3), s3);
    }
    hn::StoreU(s0, d, out + i0);
    hn::StoreU(s1, d, out + i1);
    hn::StoreU(s2, d, out + i2);
    hn::StoreU(s3, d, out + i3);
  }
}

template <class T>
void scale_by(const T* x, const T* factor, T* out, int64_t n, bool stream) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Mul(io.load(x + i), io.load(factor + i)), out + i);
  });
}

template <class T>
void shift_by(const T* x, const T* a, const T* b, T* out, int64_t n, bool stream) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Sub(hn::Sub(io.load(x + i), io.load(a + i)), io.load(b + i)), out + i);
  });
}

template <class T>
void softmax_backward_by(const T* grad, const T* y, const T* dot, T* out, int64_t n, bool stream) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Mul(io.load(y + i), hn::Sub(io.load(grad + i), io.load(dot + i))), out + i);
  });
}

template <class T>
void log_softmax_backward_by(const T* grad, const T* y, const T* sum, T* out, int64_t n,
                             bool stream) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::NegMulAdd(exp(io.load(y + i)), io.load(sum + i), io.load(grad + i)), out + i);
  });
}

template <class T>
void rescale(T* sum, const T* from, const T* to, int64_t n) {
  each<T>(n, [=](auto io, int64_t i) ROW_BODY {
    const auto factor = exp(hn::Sub(io.load(from + i), io.load(to + i)));
    io.store(hn::Mul(io.load(sum + i), factor), sum + i);
  });
}

template <class T, bool kSmallest>
void arg_extreme_to_of(const T* x, int64_t stride, int64_t rows, T* best, std::int32_t* index,
                       std::int32_t at, int64_t n) {
  // x replaces best unless best is at least as good; an unordered pair counts as x being better,
  // except where best is the NaN.
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    const Tag<float> d;
    const hn::RebindToSigned<Tag<float>> di;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto one = hn::Set(di, 1);
    for (; i + lanes <= n; i += lanes) {
      auto b = hn::LoadU(d, best + i);
      auto place = hn::LoadU(di, index + i);
      auto row = hn::Set(di, at);
      for (int64_t r = 0; r < rows; ++r) {
        const auto v = hn::LoadU(d, x + r * stride + i);
        const auto keeps = hn::Or(kSmallest ? hn::Ge(v, b) : hn::Le(v, b), hn::IsNaN(b));
        b = hn::IfThenElse(keeps, b, v);
        place = hn::IfThenElse(hn::RebindMask(di, keeps), place, row);
        row = hn::Add(row, one);
      }
      hn::StoreU(b, d, best + i);
      hn::StoreU(place, di, index + i);
    }
  }
  for (; i < n; ++i) {
    for (int64_t r = 0; r < rows; ++r) {
      const T value = x[r * stride + i], old = best[i];
      if ((kSmallest ? value >= old : value <= old) || old != old) continue;
      best[i] = value;
      index[i] = at + static_cast<std::int32_t>(r);
    }
  }
}

template <class T>
void arg_extreme_to(const T* x, int64_t stride, int64_t rows, T* best, std::int32_t* index,
                    std::int32_t at, int64_t n, bool smallest) {
  if (smallest) {
    arg_extreme_to_of<T, true>(x, stride, rows, best, index, at, n);
  } else {
    arg_extreme_to_of<T, false>(x, stride, rows, best, index, at, n);
  }
}

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
