// Functions on arrays. Each records what is to be computed; nothing runs until a result is read.
//
// Rules for all of them:
// - Arrays in one call have the same dtype and device, or Error{dtype} / Error{device}. Numbers may
//   stand in for arrays: they take the dtype beside them. A number that is fractional, or out of
//   range, beside integers is an Error{dtype}.
// - Shapes broadcast as in NumPy: aligned at the last axis, extent 1 stretches; else Error{shape}.
// - Negative axes count from the end; an axis out of range is an Error{invalid_argument}.
// - Inputs may be any views; results are in logical order. Extents of 0 are legal.
// - Integers wrap on overflow, division truncates, remainder floors. f16 and bf16 compute in f32
//   and round once.
// - Index arrays are i64 or i32, or Error{dtype}; indices out of range are undefined unless said.
//   With HEARTH_CHECK_INDICES=1 they are Error{invalid_argument}, and every such op waits.
// - Floats are differentiable everywhere unless said. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hearth/array.h"
#include "hearth/random.h"

namespace hearth {
inline namespace v0 {

// ---- Arithmetic, element by element
// Numeric dtypes (not bool).

HEARTH_API Array add(const Array& a, const Array& b);
HEARTH_API Array sub(const Array& a, const Array& b);
HEARTH_API Array mul(const Array& a, const Array& b);
// Integers truncate towards zero; division of an integer by 0 gives 0.
HEARTH_API Array div(const Array& a, const Array& b);
// Has the sign of the divisor, as in Python: remainder(-3, 2) = 1. Integer remainder by 0 gives 0.
HEARTH_API Array remainder(const Array& a, const Array& b);
// Has the sign of the dividend, as in C: fmod(-3, 2) = -1. Integer fmod by 0 gives 0.
HEARTH_API Array fmod(const Array& a, const Array& b);
// The largest whole number not above a / b, to the last bits of quotients that are beyond whole
// numbers of the dtype; a / b where a float b is 0, 0 where an integer is. Gradient 0.
HEARTH_API Array floor_divide(const Array& a, const Array& b);
// A negative base with an integral exponent is real. Integers: wrapping power, 0 for negative
// exponents except of 1 and -1.
HEARTH_API Array pow(const Array& a, const Array& b);
// NaN where either is NaN. Where both are equal each gets half of the gradient.
HEARTH_API Array maximum(const Array& a, const Array& b);
HEARTH_API Array minimum(const Array& a, const Array& b);

HEARTH_API Array neg(const Array& x);
HEARTH_API Array abs(const Array& x);     // of the least signed integer: itself
HEARTH_API Array sign(const Array& x);    // -1, +0 or 1; 0 for NaN; gradient 0
HEARTH_API Array square(const Array& x);  // x * x

// ---- Functions of floats, element by element
// Float dtypes only.

HEARTH_API Array sqrt(const Array& x);
HEARTH_API Array rsqrt(const Array& x);  // 1 / sqrt(x)
HEARTH_API Array recip(const Array& x);  // 1 / x
HEARTH_API Array exp(const Array& x);
HEARTH_API Array expm1(const Array& x);  // e^x - 1, exact near 0
HEARTH_API Array log(const Array& x);
HEARTH_API Array log1p(const Array& x);  // log(1 + x), exact near 0
HEARTH_API Array exp2(const Array& x);   // 2^x, exact of whole numbers
HEARTH_API Array log2(const Array& x);   // exact of powers of 2
HEARTH_API Array log10(const Array& x);
HEARTH_API Array tanh(const Array& x);
HEARTH_API Array sigmoid(const Array& x);
HEARTH_API Array erf(const Array& x);
HEARTH_API Array sin(const Array& x);
HEARTH_API Array cos(const Array& x);
HEARTH_API Array tan(const Array& x);
HEARTH_API Array asin(const Array& x);  // NaN beyond 1, as acos and atanh
HEARTH_API Array acos(const Array& x);
HEARTH_API Array atan(const Array& x);
HEARTH_API Array sinh(const Array& x);
HEARTH_API Array cosh(const Array& x);
HEARTH_API Array asinh(const Array& x);
HEARTH_API Array acosh(const Array& x);  // NaN below 1
HEARTH_API Array atanh(const Array& x);
// The angle of the point (x, y), in [-pi, pi]; signs of zeros and infinities count. At the origin
// the gradient is 0.
HEARTH_API Array atan2(const Array& y, const Array& x);
// sqrt(a^2 + b^2) without overflow in between; an infinity wins over NaN. Where both are 0 the
// gradient is 0.
HEARTH_API Array hypot(const Array& a, const Array& b);
HEARTH_API Array floor(const Array& x);  // gradient 0, as of ceil, round and trunc
HEARTH_API Array ceil(const Array& x);
HEARTH_API Array round(const Array& x);  // ties to even
HEARTH_API Array trunc(const Array& x);  // towards zero, whose sign stays
HEARTH_API Array relu(const Array& x);   // gradient 0 at 0
// x * Phi(x), by erf; `approximate`: by tanh.
HEARTH_API Array gelu(const Array& x, bool approximate = false);
HEARTH_API Array silu(const Array& x);  // x * sigmoid(x)

// ---- Activations made of others
// Float dtypes only; NaN stays NaN, infinities give limits. Where branches meet, gradients are
// PyTorch's: 0 at the bounds of hardtanh, relu6, hard_sigmoid and the shrinks, else a branch's.

// x where x > 0, else negative_slope * x.
HEARTH_API Array leaky_relu(const Array& x, double negative_slope = 0.01);
// leaky_relu with learned slopes: weight [] or [1], or [channels] beside x [batch, channels, ...]
// or x [channels].
HEARTH_API Array prelu(const Array& x, const Array& weight);
HEARTH_API Array elu(const Array& x, double alpha = 1);  // x where x > 0, else alpha (e^x - 1)
// x where x > 0, else alpha (e^(x / alpha) - 1), for a positive alpha.
HEARTH_API Array celu(const Array& x, double alpha = 1);
HEARTH_API Array selu(const Array& x);  // a scaled elu
// alpha * x + beta within [0, 1].
HEARTH_API Array hard_sigmoid(const Array& x, double alpha = 0.2, double beta = 0.5);
HEARTH_API Array hard_swish(const Array& x);  // x * relu6(x + 3) / 6
// x where |x| > lambda, else 0. Here and in its neighbours lambda is 0 or more.
HEARTH_API Array hard_shrink(const Array& x, double lambda = 0.5);
// shrink by lambda itself.
HEARTH_API Array soft_shrink(const Array& x, double lambda = 0.5);
// x - bias * sign(x) where |x| > lambda, else 0.
HEARTH_API Array shrink(const Array& x, double lambda = 0.5, double bias = 0);
HEARTH_API Array thresholded_relu(const Array& x, double alpha = 1);  // x where x > alpha, else 0
// x where x > limit, else value.
HEARTH_API Array threshold(const Array& x, double limit, double value);
// log(1 + e^(beta x)) / beta without overflow, for a positive beta.
HEARTH_API Array softplus(const Array& x, double beta = 1);
HEARTH_API Array softsign(const Array& x);     // x / (1 + |x|)
HEARTH_API Array mish(const Array& x);         // x * tanh(softplus(x))
HEARTH_API Array log_sigmoid(const Array& x);  // log(sigmoid(x)) without overflow
// Within [low, high].
HEARTH_API Array hardtanh(const Array& x, double low = -1, double high = 1);
HEARTH_API Array relu6(const Array& x);  // within [0, 6]
// The first half along `axis` times the sigmoid of the second; its extent is even.
HEARTH_API Array glu(const Array& x, std::int64_t axis = -1);
HEARTH_API Array tanhshrink(const Array& x);  // x - tanh(x)

// ---- Comparison
// Results are bool; never differentiable. Comparisons with NaN are false, not_equal is true.

HEARTH_API Array equal(const Array& a, const Array& b);
HEARTH_API Array not_equal(const Array& a, const Array& b);
HEARTH_API Array less(const Array& a, const Array& b);
HEARTH_API Array less_equal(const Array& a, const Array& b);
HEARTH_API Array greater(const Array& a, const Array& b);
HEARTH_API Array greater_equal(const Array& a, const Array& b);
HEARTH_API Array is_nan(const Array& x);  // float dtypes only, as is_inf and is_finite
HEARTH_API Array is_inf(const Array& x);
HEARTH_API Array is_finite(const Array& x);  // neither infinite nor NaN

// ---- Logic
// bool only; never differentiable.

HEARTH_API Array logical_and(const Array& a, const Array& b);
HEARTH_API Array logical_or(const Array& a, const Array& b);
HEARTH_API Array logical_xor(const Array& a, const Array& b);
HEARTH_API Array logical_not(const Array& x);

// ---- Bits, element by element
// Integers; bitwise_and, _or, _xor and _not take bool as well, and are logic of it. Never
// differentiable.

HEARTH_API Array bitwise_and(const Array& a, const Array& b);
HEARTH_API Array bitwise_or(const Array& a, const Array& b);
HEARTH_API Array bitwise_xor(const Array& a, const Array& b);
HEARTH_API Array bitwise_not(const Array& x);
// a * 2^b, wrapping. By a b that is negative or at least the bits of the dtype: 0.
HEARTH_API Array bitwise_left_shift(const Array& a, const Array& b);
// floor(a / 2^b): arithmetic for signed integers. By a b that is negative or at least the bits of
// the dtype: 0, or -1 where a is negative.
HEARTH_API Array bitwise_right_shift(const Array& a, const Array& b);

// ---- Selection and conversion
// Any dtype unless said.

// `a` where `condition` (bool) is true, else `b`; all three broadcast.
HEARTH_API Array where(const Array& condition, const Array& a, const Array& b);
// Limits to [low, high]; NaN stays NaN; `low` wins where low > high. At a bound the gradient is
// x's. Numeric dtypes.
HEARTH_API Array clamp(const Array& x, const Array& low, const Array& high);
// clamp without an upper bound. Numeric dtypes.
HEARTH_API Array clamp_min(const Array& x, const Array& low);
// clamp without a lower bound. Numeric dtypes.
HEARTH_API Array clamp_max(const Array& x, const Array& high);
// a + (b - a) * t: the way from a to b. Float dtypes; a itself for t = 0, while t = 1 may miss b by
// rounding.
HEARTH_API Array lerp(const Array& a, const Array& b, const Array& t);
// Float to integer truncates, saturates and takes NaN to 0; anything to bool is x != 0. `x` itself
// if it has the dtype already. A number becomes an array of rank 0.
HEARTH_API Array cast(const Array& x, DType dtype);
// x in the memory of another device, through the host; x itself if it is there already. Waits for
// x, whose recording ends here. The gradient goes back the same way.
HEARTH_API Array to_device(const Array& x, Device device);

// ---- Reductions
// Over `axes` (in any order, none twice), or over everything where no axes are given. Reduced axes
// stay with extent 1 if `keepdim`. Over `{}` each element is reduced by itself.

HEARTH_API Array sum(const Array& x);  // numeric; integers keep their dtype
HEARTH_API Array sum(const Array& x, const Dims& axes, bool keepdim = false);
// Integers truncate, and no sum overflows (of i64 and u64: of up to 2^30 elements). The mean of
// nothing is NaN; of integers, Error{invalid_argument}.
HEARTH_API Array mean(const Array& x);
HEARTH_API Array mean(const Array& x, const Dims& axes, bool keepdim = false);
// Mean of squared distances from the mean, by count - correction: 1 is Bessel's, 0 that of a whole
// population; NaN where that is not positive. Float dtypes.
HEARTH_API Array var(const Array& x);
HEARTH_API Array var(const Array& x, const Dims& axes, bool keepdim = false,
                     std::int64_t correction = 1);
// The root of var, of gradient 0 at 0.
HEARTH_API Array std(const Array& x);
HEARTH_API Array std(const Array& x, const Dims& axes, bool keepdim = false,
                     std::int64_t correction = 1);
// Numeric dtypes; integers keep theirs and wrap. Over nothing: 1.
HEARTH_API Array prod(const Array& x);
HEARTH_API Array prod(const Array& x, const Dims& axes, bool keepdim = false);
// Numeric dtypes; NaN wins. Over nothing: Error{invalid_argument}. Equal extremes share the
// gradient evenly.
HEARTH_API Array max(const Array& x);
HEARTH_API Array max(const Array& x, const Dims& axes, bool keepdim = false);
// As max, of the smallest element.
HEARTH_API Array min(const Array& x);
HEARTH_API Array min(const Array& x, const Dims& axes, bool keepdim = false);
// bool: whether any element is not 0; NaN is not 0. Any dtype.
HEARTH_API Array any(const Array& x);
HEARTH_API Array any(const Array& x, const Dims& axes, bool keepdim = false);
// One function instead of two, so that its name is a word of indexing.h as well: a whole axis.
struct AllAxes {
  AllAxes(const Dims& dims) : axes(dims) {}                                // NOLINT
  AllAxes(std::initializer_list<std::int64_t> list) : axes(Dims(list)) {}  // NOLINT
  static AllAxes everything() { return AllAxes(std::nullopt); }

  std::optional<Dims> axes;  // none: over everything

 private:
  explicit AllAxes(std::nullopt_t) {}
};
// bool: whether no element is 0; NaN is not 0. Any dtype.
HEARTH_API Array all(const Array& x, const AllAxes& axes = AllAxes::everything(),
                     bool keepdim = false);

// ---- Along one axis
// A reduced axis stays with extent 1 if `keepdim`.

// The lowest index of the largest element along `axis`; NaN wins. Numeric dtypes; over nothing:
// Error{invalid_argument}. Error{dtype} where `dtype` does not hold all indices.
HEARTH_API Array argmax(const Array& x, std::int64_t axis, bool keepdim = false,
                        DType dtype = DType::i64);
// As argmax, of the smallest element.
HEARTH_API Array argmin(const Array& x, std::int64_t axis, bool keepdim = false,
                        DType dtype = DType::i64);
// The largest element along `axis` and, i64, its index: the values of max over one axis with the
// indices of argmax. What is not kept is not computed. The gradient of a value goes to the element
// that its index names. Numeric dtypes; over nothing: Error{invalid_argument}.
HEARTH_API std::pair<Array, Array> max_with_indices(const Array& x, std::int64_t axis,
                                                    bool keepdim = false);
// As max_with_indices, of the smallest element.
HEARTH_API std::pair<Array, Array> min_with_indices(const Array& x, std::int64_t axis,
                                                    bool keepdim = false);

// Scans: of the shape and dtype of x, element i made of the elements up to i, itself included, or
// of those from i on if `reverse`. Empty axes are legal, and each run gives the same bits.

// Numeric dtypes; integers wrap. f16 and bf16 are added in f32; of no float does the error grow
// with the length of the axis: each element is right to a few units in the last place of the
// largest sum before it.
HEARTH_API Array cumsum(const Array& x, std::int64_t axis, bool reverse = false);
// Numeric dtypes; integers wrap. f16 and bf16 are multiplied in f32 or wider. The gradient is exact
// where elements are 0, and costs one more scan, of two inputs.
HEARTH_API Array cumprod(const Array& x, std::int64_t axis, bool reverse = false);
// The largest element so far; from the first NaN on, NaN. Numeric dtypes. The gradient of an
// element goes to the one it equals, the last one of equals.
HEARTH_API Array cummax(const Array& x, std::int64_t axis);
// As cummax, of the smallest element.
HEARTH_API Array cummin(const Array& x, std::int64_t axis);
// cummax and, i64, where along `axis` each element stands: of equals the last one so far, as of
// NaN.
HEARTH_API std::pair<Array, Array> cummax_with_indices(const Array& x, std::int64_t axis);
// As cummax_with_indices, of the smallest element.
HEARTH_API std::pair<Array, Array> cummin_with_indices(const Array& x, std::int64_t axis);
// log(cumsum(e^x)) without overflow in between. Float dtypes.
HEARTH_API Array logcumsumexp(const Array& x, std::int64_t axis, bool reverse = false);

// Float dtypes, shifted by the maximum, so nothing overflows. As with sum(), the error does not
// grow with the length of the axis: sums of 10^7 elements of f32 are right to about 1e-6.
HEARTH_API Array softmax(const Array& x, std::int64_t axis = -1);
HEARTH_API Array log_softmax(const Array& x, std::int64_t axis = -1);
HEARTH_API Array logsumexp(const Array& x, std::int64_t axis = -1, bool keepdim = false);

// ---- Sorting
// Along `axis`, stable: equal elements keep their order; -0 equals 0. NaN is beyond infinity: last
// in ascending order, first in descending order. Any dtype. What is not kept is not computed.

// The elements in order. The gradient of each goes to where it was.
HEARTH_API Array sort(const Array& x, std::int64_t axis = -1, bool descending = false);
// The positions along `axis` of what sort gives. Error{dtype} where `dtype` does not hold them all.
HEARTH_API Array argsort(const Array& x, std::int64_t axis = -1, bool descending = false,
                         DType dtype = DType::i64);
// sort and, i64, argsort.
HEARTH_API std::pair<Array, Array> sort_with_indices(const Array& x, std::int64_t axis = -1,
                                                     bool descending = false);
// The k largest elements, in descending order: of equal ones those of the lowest indices.
// Error{invalid_argument} where there are not k of them.
HEARTH_API Array topk(const Array& x, std::int64_t k, std::int64_t axis = -1);
// The positions of what topk gives. Error{dtype} where `dtype` does not hold all along `axis`.
HEARTH_API Array argtopk(const Array& x, std::int64_t k, std::int64_t axis = -1,
                         DType dtype = DType::i64);
// topk and, i64, argtopk.
HEARTH_API std::pair<Array, Array> topk_with_indices(const Array& x, std::int64_t k,
                                                     std::int64_t axis = -1);
// The element in the middle, of an even number the lower of two; NaN where there is one. The axis
// stays with extent 1 if `keepdim`. Numeric dtypes; over nothing: Error{invalid_argument}.
HEARTH_API Array median(const Array& x, std::int64_t axis, bool keepdim = false);
// median and, i64, its index; of a NaN the lowest.
HEARTH_API std::pair<Array, Array> median_with_indices(const Array& x, std::int64_t axis,
                                                       bool keepdim = false);

// ---- Shape
// Views: nothing is copied unless a reader needs it.

// Same elements in row-major order. One extent may be -1 and is worked out from the others.
HEARTH_API Array reshape(const Array& x, const Shape& shape);
// Axis i of the result is axis axes[i] of x; `axes` names every axis once.
HEARTH_API Array permute(const Array& x, const Dims& axes);
HEARTH_API Array transpose(const Array& x);  // swaps the last two axes
// Axes a and b in each other's place.
HEARTH_API Array swap_axes(const Array& x, std::int64_t a, std::int64_t b);
// Stretches extents of 1 and adds axes in front; -1 keeps an extent.
HEARTH_API Array expand(const Array& x, const Shape& shape);
HEARTH_API Array broadcast_to(const Array& x, const Shape& shape);  // expand by another name
// Drops `axes`, or all axes of extent 1 where none are given. Error{shape} if one of `axes` has
// another extent.
HEARTH_API Array squeeze(const Array& x);
HEARTH_API Array squeeze(const Array& x, const Dims& axes);
// Inserts axes of extent 1; `axes` are positions in the result.
HEARTH_API Array unsqueeze(const Array& x, const Dims& axes);
// Merges axes first..last, both included.
HEARTH_API Array flatten(const Array& x, std::int64_t first = 0, std::int64_t last = -1);

// The part [start, end) of an axis, every |step|-th element. Negative positions count from the end;
// positions are clamped to the extent; no `end` means to the end. A negative step walks the same
// range backwards, from its last element: {0, 5, -1} gives 4, 3, 2, 1, 0; {2, 8, -2} gives 7, 5, 3.
// A step of 0 is an Error{invalid_argument}.
struct Slice {
  std::int64_t start = 0;
  std::optional<std::int64_t> end = std::nullopt;
  std::int64_t step = 1;
};

// One Slice for each leading axis; the axes after are kept whole.
HEARTH_API Array slice(const Array& x, const std::vector<Slice>& slices);
// `length` elements of `axis` from `start`; Error{invalid_argument} if they do not exist.
HEARTH_API Array narrow(const Array& x, std::int64_t axis, std::int64_t start, std::int64_t length);
// The part of shape `sizes` from `starts`, whose values are no part of a plan's identity: use it
// where positions change from step to step. Error{invalid_argument} if the part is not inside x.
HEARTH_API Array dynamic_slice(const Array& x, const Dims& starts, const Shape& sizes);
// The elements of each of `axes` in reverse order.
HEARTH_API Array flip(const Array& x, const Dims& axes);
// Parts of the given sizes, which add up to the extent of `axis`.
HEARTH_API std::vector<Array> split(const Array& x, const std::vector<std::int64_t>& sizes,
                                    std::int64_t axis);
// Parts of ceil(extent / count); the last may be smaller, and there may be fewer than `count`.
HEARTH_API std::vector<Array> chunk(const Array& x, std::int64_t count, std::int64_t axis);

// ---- Joining and copying

// A dense row-major array of the same value.
HEARTH_API Array contiguous(const Array& x);
// Joins arrays that differ along `axis` only; at least one.
HEARTH_API Array cat(std::span<const Array> arrays, std::int64_t axis);
HEARTH_API Array cat(const std::vector<Array>& arrays, std::int64_t axis);
// Joins arrays of one shape along a new axis at position `axis` of the result.
HEARTH_API Array stack(const std::vector<Array>& arrays, std::int64_t axis);
// Tiles x: times[i] copies along axis i, one entry for each axis.
HEARTH_API Array repeat(const Array& x, const Dims& times);

// ---- Order, windows and padding
// Any dtype unless said.

// Axes `source` at positions `destination` of the result, the others in their order.
HEARTH_API Array movedim(const Array& x, const Dims& source, const Dims& destination);
// Element i of axes[k] at (i + shifts[k]) mod its extent: what leaves at one end enters at the
// other. Shifts of one axis add up.
HEARTH_API Array roll(const Array& x, const Dims& shifts, const Dims& axes);
// Turned by `times` quarters from axis `first` towards axis `second`.
HEARTH_API Array rot90(const Array& x, std::int64_t times = 1, std::int64_t first = 0,
                       std::int64_t second = 1);
// Each element of `axis` `times` times in a row.
HEARTH_API Array repeat_interleave(const Array& x, std::int64_t times, std::int64_t axis);
// Windows of `size` elements along `axis`, from every step-th element: the axis becomes their
// number, max(0, floor((extent - size) / step) + 1), and `size` the new last axis. A view.
HEARTH_API Array unfold(const Array& x, std::int64_t axis, std::int64_t size,
                        std::int64_t step = 1);
// How pad() fills: with a number, elements mirrored at the border element, the border element, or
// elements from the other end.
enum class PadMode : std::uint8_t { constant, reflect, edge, wrap };
// x with before[i] elements in front of axis i and after[i] behind it. Counts beyond the extent go
// back and forth (reflect) or around (wrap), as in NumPy. `value`, 0 where undefined, is for
// PadMode::constant. Error{invalid_argument} for a negative count, and for an axis of extent 0
// where something is to be repeated.
HEARTH_API Array pad(const Array& x, const Dims& before, const Dims& after,
                     PadMode mode = PadMode::constant, const Array& value = Array());

// ---- Diagonals
// The diagonal that is `offset` right of the main one (below it where negative) of the matrices
// that axes `first` and `second` make.

// The two axes go, the elements of the diagonal become the last axis. A view, of any dtype.
HEARTH_API Array diagonal(const Array& x, std::int64_t offset = 0, std::int64_t first = -2,
                          std::int64_t second = -1);
// The sum of the diagonal. Numeric dtypes.
HEARTH_API Array trace(const Array& x, std::int64_t offset = 0, std::int64_t first = -2,
                       std::int64_t second = -1);
// x [..., n] on the diagonal of square matrices [..., n + |offset|, n + |offset|] of 0.
HEARTH_API Array diag_embed(const Array& x, std::int64_t offset = 0);
// diag_embed of rank 1, the diagonal of higher ranks.
HEARTH_API Array diag(const Array& x, std::int64_t offset = 0);

// ---- Indexing

// x with `value` written over slice(x, slices); value broadcasts to the slice's shape.
// `x = slice_assign(x, ...)` reuses x's memory where nothing else holds it.
HEARTH_API Array slice_assign(const Array& x, const std::vector<Slice>& slices, const Array& value);
// x with `value` (of x's rank) written from `starts` on; see dynamic_slice.
HEARTH_API Array dynamic_slice_assign(const Array& x, const Dims& starts, const Array& value);
// out[..i..] = x[..indices[..i..]..] along `axis`. indices has x's rank and, but for `axis`, x's
// extents or smaller ones; the result has its shape.
HEARTH_API Array gather(const Array& x, const Array& indices, std::int64_t axis);
// x with values[..i..] added at [..indices[..i..]..] along `axis`, in index order (bool: or).
// indices and values have one shape.
HEARTH_API Array scatter_add(const Array& x, const Array& indices, const Array& values,
                             std::int64_t axis);
// The slices of x along `axis` that `indices` [n] names.
HEARTH_API Array select(const Array& x, const Array& indices, std::int64_t axis);
// x with slice i of `values` along `axis` added to slice indices[i], in order (bool: or).
HEARTH_API Array select_add(const Array& x, const Array& indices, const Array& values,
                            std::int64_t axis);
// Rows of weight [entries, dim] by indices [...]; the result is [..., dim].
HEARTH_API Array embedding(const Array& weight, const Array& indices);
// indices [...] to [..., classes]: 1 at the index, 0 elsewhere (all 0 where out of range).
HEARTH_API Array one_hot(const Array& indices, std::int64_t classes, DType dtype = DType::f32);

// The slices of x along `axis` that `indices` [...] names: the axis becomes the axes of indices.
HEARTH_API Array take(const Array& x, const Array& indices, std::int64_t axis);
// As one_hot, of `on` at the index and `off` elsewhere, the new axis at position `axis` of the
// result.
HEARTH_API Array one_hot_fill(const Array& indices, std::int64_t classes, double on, double off,
                              std::int64_t axis = -1, DType dtype = DType::f32);

// ---- Updates by index
// What becomes of an element x that a value v addresses: v, x + v, x * v, or the smaller or larger
// of both. Where an element is addressed several times, `add` adds all in order; what the others
// make of it is undefined. Numeric dtypes; bool for `assign` and, as or, `add`.

enum class IndexingUpdateOp : std::uint8_t { assign, add, mul, min, max };
// x with values[..i..] brought to [..indices[..i..]..] along `axis`: scatter_add with any update.
HEARTH_API Array scatter(const Array& x, const Array& indices, const Array& values,
                         std::int64_t axis, IndexingUpdateOp update);
// x with slice i of `values` along `axis` brought to slice indices[i]: select_add with any update.
HEARTH_API Array select_assign(const Array& x, const Array& indices, const Array& values,
                               std::int64_t axis, IndexingUpdateOp update);
// indices [..., k] address the first k axes of x [k extents, rest]; the result is [..., rest]. Any
// dtype.
HEARTH_API Array gather_nd(const Array& x, const Array& indices);
// x with values [..., rest] brought to where indices [..., k] address it, as gather_nd reads.
HEARTH_API Array scatter_nd(const Array& x, const Array& indices, const Array& values,
                            IndexingUpdateOp update = IndexingUpdateOp::assign);

// ---- Contractions and layers

// a [..., m, k] x b [..., k, n] = [..., m, n]; leading axes broadcast. Rank 1 stands for a row on
// the left and a column on the right, and that axis is dropped from the result. Numeric dtypes;
// f32 is computed in f32, f16 and bf16 accumulate in f32.
HEARTH_API Array matmul(const Array& a, const Array& b);
// x [..., in] x weight [out, in]^T + bias [out] = [..., out]; `bias` may be undefined.
HEARTH_API Array linear(const Array& x, const Array& weight, const Array& bias = Array());
// Over the last axis, biased variance; weight [dim] and bias [dim] may be undefined. Mean and
// variance are as exact as sum() for rows of any length, however far from zero.
HEARTH_API Array layer_norm(const Array& x, const Array& weight = Array(),
                            const Array& bias = Array(), double epsilon = 1e-5);
// x / sqrt(mean(x^2) + epsilon) over the last axis, times weight [dim] if defined.
HEARTH_API Array rms_norm(const Array& x, const Array& weight = Array(), double epsilon = 1e-5);

struct RopeOptions {
  double base = 10000;
  bool interleaved = false;  // pairs (0, 1), (2, 3)...; else (i, i + dim / 2), as in Llama
  std::int64_t offset = 0;   // position of the first row; may change without a new plan
};
// Rotary position embedding of x [..., sequence, dim], dim even: pair i of row s turns by
// (offset + s) * base^(-2i / dim).
HEARTH_API Array rope(const Array& x, const RopeOptions& options = {});

struct AttentionOptions {
  std::optional<double> scale = std::nullopt;  // default 1 / sqrt(d)
  double softcap = 0;                          // > 0: scores become softcap * tanh(score / softcap)
  bool causal = false;                         // row r sees columns up to r + kv_length - q_length
  Array mask = {};  // bool, true = masked out; broadcasts to [batch, heads, q_length, length]
  Array bias = {};  // added to the scores; broadcasts likewise
  std::optional<std::int64_t> kv_length = std::nullopt;  // default: the whole length
};
// softmax(q k^T * scale) v for q [batch, heads, q_length, d], k [batch, kv_heads, length, d] and
// v [batch, kv_heads, length, dv]; heads is a multiple of kv_heads. Keys from kv_length on do not
// exist (it may change without a new plan). Scale, softcap, mask, causal, bias, in this order; a
// row that is masked out completely gives 0. Keys that mask or causal order hide weigh 0, which
// makes values there that are not finite NaN (0 * inf); only what kv_length hides is never used.
HEARTH_API Array attention(const Array& q, const Array& k, const Array& v,
                           const AttentionOptions& options = {});

// Of each spatial axis: a list has one number for each, or one for all of them.
struct ConvOptions {
  Dims stride = {};       // between positions; empty: 1
  Dims padding = {};      // zeros before and after the input; empty: none
  Dims padding_end = {};  // zeros after it, where they differ; empty: as padding
  Dims dilation = {};     // between elements of the kernel; empty: 1
  std::int64_t groups = 1;
};
// Convolution (cross-correlation) of x [batch, in, spatial...], with one to three spatial axes, and
// weight [out, in / groups, kernel...]: [batch, out, positions...]. Each output channel sums over
// the input channels of its group; bias [out] may be undefined. Float dtypes; halves are summed in
// f32. Throws Error{shape} where the kernel does not fit into the padded input.
HEARTH_API Array conv(const Array& x, const Array& weight, const Array& bias = Array(),
                      const ConvOptions& options = {});

struct ConvTransposeOptions : ConvOptions {
  Dims output_padding = {};  // elements more at the end; below the stride or the dilation
};
// The gradient of conv for its input: x [batch, in, spatial...] and weight [in, out / groups,
// kernel...] give [batch, out, extents...], (spatial - 1) * stride - padding - padding_end +
// dilation * (kernel - 1) + 1 + output_padding each; bias [out] may be undefined.
HEARTH_API Array conv_transpose(const Array& x, const Array& weight, const Array& bias = Array(),
                                const ConvTransposeOptions& options = {});

enum class Reduction : std::uint8_t { none, mean, sum };
// -log softmax(logits)[target] in nats: logits [..., classes], index targets [...]. Rows whose
// target is `ignore_index` give 0 and do not count in the mean. Half logits give f32. A target out
// of range gives NaN. `label_smoothing` (0 to 1) of the target is spread evenly over all classes.
HEARTH_API Array cross_entropy(const Array& logits, const Array& targets,
                               Reduction reduction = Reduction::mean,
                               std::int64_t ignore_index = -100, double label_smoothing = 0);

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
// Float dtypes unless said, computed as f32 at least. Over `axes`, or over everything where no axes
// are given.

// (sum |x|^p)^(1/p), for p >= 1 of gradient 0 where it is 0; infinity is the largest magnitude,
// -infinity the smallest, and p = 0, which is not differentiable, counts what is not 0. Integers
// have p = 0, 1 and the infinities.
HEARTH_API Array vector_norm(const Array& x, double p = 2,
                             const AllAxes& axes = AllAxes::everything(), bool keepdim = false);
// x divided by its vector_norm along `axis`, which counts as `epsilon` at least.
HEARTH_API Array vector_normalize(const Array& x, double p = 2, std::int64_t axis = -1,
                                  double epsilon = 1e-12);
// The largest magnitude; NaN wins. Numeric dtypes; over nothing: Error{invalid_argument}.
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

// ---- Creation
// Constants; their memory is one element where readers take views.

// `value` as `dtype` in all of `shape`, to which it broadcasts.
HEARTH_API Array full(const Shape& shape, const Array& value, DType dtype = DType::f32,
                      Device device = Device());
// full of 0.
HEARTH_API Array zeros(const Shape& shape, DType dtype = DType::f32, Device device = Device());
// full of 1.
HEARTH_API Array ones(const Shape& shape, DType dtype = DType::f32, Device device = Device());
// full with the shape, dtype and device of x.
HEARTH_API Array full_like(const Array& x, const Array& value);
HEARTH_API Array zeros_like(const Array& x);  // full_like of 0
HEARTH_API Array ones_like(const Array& x);   // full_like of 1
// To be written over: the values are unspecified.
HEARTH_API Array empty(const Shape& shape, DType dtype = DType::f32, Device device = Device());
HEARTH_API Array empty_like(const Array& x);  // empty with the shape, dtype and device of x

// ---- Ranges and triangles

// start, start + step, ... before `end`: max(0, ceil((end - start) / step)) elements. A step of 0
// is an Error{invalid_argument}.
HEARTH_API Array arange(std::int64_t start, std::int64_t end, std::int64_t step = 1,
                        DType dtype = DType::i64, Device device = Device());
// count values start + i * step in a float dtype.
HEARTH_API Array linear_ramp(std::int64_t count, double start, double step,
                             DType dtype = DType::f32, Device device = Device());
// `count` evenly spaced values of a float dtype, the first `start` and the last exactly `end`.
HEARTH_API Array linspace(double start, double end, std::int64_t count, DType dtype = DType::f32,
                          Device device = Device());
// Which axis of the results the first array runs along: the first (matrix) or the second.
enum class GridIndexing : std::uint8_t { matrix, cartesian };
// Arrays [n] of any dtype, each broadcast over a grid of all of them: views. At most 8 arrays.
HEARTH_API std::vector<Array> meshgrid(const std::vector<Array>& arrays,
                                       GridIndexing indexing = GridIndexing::matrix);
// [shape, rank]: at each position its indices.
HEARTH_API Array cartesian_grid(const Shape& shape, DType dtype = DType::i64,
                                Device device = Device());
// [size, size]: 1 on the diagonal, 0 elsewhere.
HEARTH_API Array eye(std::int64_t size, DType dtype = DType::f32, Device device = Device());
// bool [rows, cols]: false on and above the diagonal that is `diagonal` right of the main one, true
// elsewhere: what mask_fill would erase.
HEARTH_API Array triu_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal = 0,
                           Device device = Device());
// bool [rows, cols]: false on and below the diagonal that triu_mask names, true elsewhere.
HEARTH_API Array tril_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal = 0,
                           Device device = Device());
// bool [rows, cols]: false on the diagonal that triu_mask names, true elsewhere.
HEARTH_API Array diag_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal = 0,
                           Device device = Device());
// x [..., rows, cols] with 0 where triu_mask is true.
HEARTH_API Array triu(const Array& x, std::int64_t diagonal = 0);
// x [..., rows, cols] with 0 where tril_mask is true.
HEARTH_API Array tril(const Array& x, std::int64_t diagonal = 0);

// ---- Operators

inline Array operator+(const Array& a, const Array& b) { return add(a, b); }
inline Array operator-(const Array& a, const Array& b) { return sub(a, b); }
inline Array operator*(const Array& a, const Array& b) { return mul(a, b); }
inline Array operator/(const Array& a, const Array& b) { return div(a, b); }
inline Array operator%(const Array& a, const Array& b) { return remainder(a, b); }
inline Array operator-(const Array& x) { return neg(x); }

}  // namespace v0
}  // namespace hearth
