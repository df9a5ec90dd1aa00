// Products, statistics, norms and distances. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>

#include "hearth/array.h"
#include "hearth/ops/reduce.h"

namespace hearth {
inline namespace v0 {

// ---- Products

// a [..., m, k] x b [..., k, n] = [..., m, n]; leading axes broadcast. Rank 1 stands for a row on
// the left and a column on the right, and that axis is dropped from the result. Numeric dtypes;
// f32 is computed in f32, f16 and bf16 accumulate in f32.
HEARTH_API Array matmul(const Array& a, const Array& b);
// x [..., in] x weight [out, in]^T + bias [out] = [..., out]; `bias` may be undefined. Dtypes as of
// matmul; the sums of halves are rounded before the bias is added, unless one kernel does both. The
// weight may be packed (hearth/quantization/packed.h), with x of f32, f16 or bf16: then a device
// may round x to 8-bit codes of 32 elements, and the gradient is that of x and bias.
HEARTH_API Array linear(const Array& x, const Array& weight, const Array& bias = Array());

// ---- Products and statistics

// a [..., m] times b [..., n], each with each: [..., m, n]; leading axes broadcast. Numeric dtypes.
HEARTH_API Array outer(const Array& a, const Array& b);
// a [..., m, n] x b [..., n] = [..., m]; leading axes broadcast. Numeric dtypes.
HEARTH_API Array matvec(const Array& a, const Array& b);
// a x b of vectors of 3 elements along `axis`; the other axes broadcast. Numeric dtypes.
HEARTH_API Array cross(const Array& a, const Array& b, std::int64_t axis = -1);
// x [n, variables], or [variables, n] for axis 1: [variables, variables], the covariances over
// the n observations along `axis`, divided by n - correction. Float dtypes.
HEARTH_API Array cov(const Array& x, std::int64_t axis = 0, std::int64_t correction = 1);
// cov divided by the deviations of both variables, in [-1, 1]; NaN where a deviation is 0.
HEARTH_API Array corrcoef(const Array& x, std::int64_t axis = 0);

// ---- Norms and distances
// Float dtypes unless said, computed as f32 at least.

// (sum |x|^p)^(1/p) over `axes`, or over everything where none are given; for p >= 1 of gradient 0
// where it is 0. p = infinity is the largest magnitude, -infinity the smallest, and p = 0, which is
// not differentiable, counts what is not 0. Integers are taken for p = 0, 1 and the infinities, and
// refused for other p.
HEARTH_API Array vector_norm(const Array& x, double p = 2,
                             const AllAxes& axes = AllAxes::everything(), bool keepdim = false);
// x divided by its vector_norm along `axis`, which counts as `epsilon` at least.
HEARTH_API Array vector_normalize(const Array& x, double p = 2, std::int64_t axis = -1,
                                  double epsilon = 1e-12);
// The largest magnitude over `axes`, or over everything; NaN wins. Numeric dtypes; over nothing:
// Error{invalid_argument}.
HEARTH_API Array max_abs(const Array& x, const AllAxes& axes = AllAxes::everything(),
                         bool keepdim = false);
// The cosine of the angle between a and b along `axis`, which goes unless `keepdim`; norms count as
// `epsilon` at least. The other axes broadcast.
HEARTH_API Array cosine_similarity(const Array& a, const Array& b, std::int64_t axis = -1,
                                   bool keepdim = false, double epsilon = 1e-8);
// vector_norm of a [..., m, d] minus b [..., n, d], each row with each: [..., m, n].
HEARTH_API Array cdist(const Array& a, const Array& b, double p = 2);

// ---- Closeness
// Float dtypes; never differentiable.

// bool: |a - b| <= absolute + relative * |b|, or equal; NaN is close to nothing, an infinity to
// itself alone.
HEARTH_API Array is_close(const Array& a, const Array& b, double relative = 1e-5,
                          double absolute = 1e-8);
// bool []: whether is_close holds everywhere.
HEARTH_API Array all_close(const Array& a, const Array& b, double relative = 1e-5,
                           double absolute = 1e-8);
HEARTH_API Array contains_nan(const Array& x);  // bool []: whether any element is NaN

}  // namespace v0
}  // namespace hearth
