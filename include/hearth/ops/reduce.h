// Sums, means, extremes and others, over axes. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Reductions
// Over `axes` (in any order, none twice), or over everything where no axes are given. Reduced axes
// stay with extent 1 if `keepdim`. Over `{}` each element is reduced by itself.

HEARTH_API Array sum(const Array& x);  // numeric; integers keep their dtype
HEARTH_API Array sum(const Array& x, const Dims& axes, bool keepdim = false);
// The mean; integers truncate, and no sum overflows (of i64 and u64: of up to 2^30 elements). The
// mean of nothing is NaN; of integers, Error{invalid_argument}.
HEARTH_API Array mean(const Array& x);
HEARTH_API Array mean(const Array& x, const Dims& axes, bool keepdim = false);
// The mean of squared distances from the mean, by count - correction: 1 is Bessel's, 0 that of a
// whole population; NaN where that is not positive. Float dtypes.
HEARTH_API Array var(const Array& x);
HEARTH_API Array var(const Array& x, const Dims& axes, bool keepdim = false,
                     std::int64_t correction = 1);
// The root of var, of gradient 0 at 0.
HEARTH_API Array std(const Array& x);
HEARTH_API Array std(const Array& x, const Dims& axes, bool keepdim = false,
                     std::int64_t correction = 1);
// var and mean over `axes`. Float dtypes.
HEARTH_API std::pair<Array, Array> var_mean(const Array& x, const Dims& axes, bool keepdim = false,
                                            std::int64_t correction = 1);
// Numeric dtypes; integers keep theirs and wrap. Over nothing: 1.
HEARTH_API Array prod(const Array& x);
HEARTH_API Array prod(const Array& x, const Dims& axes, bool keepdim = false);
// Numeric dtypes; NaN wins; among -0 and +0 either may, depending on layout and fusion. Over
// nothing: Error{invalid_argument}. Equal extremes share the gradient evenly.
HEARTH_API Array max(const Array& x);
HEARTH_API Array max(const Array& x, const Dims& axes, bool keepdim = false);
// The smallest element; all else as max.
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
// The lowest index of the smallest element along `axis`; all else as argmax.
HEARTH_API Array argmin(const Array& x, std::int64_t axis, bool keepdim = false,
                        DType dtype = DType::i64);
// The largest element along `axis` and, i64, its index: the values of max over one axis with the
// indices of argmax. A result that nobody keeps is not computed. The gradient of a value goes to
// the element that its index names. Numeric dtypes; over nothing: Error{invalid_argument}.
HEARTH_API std::pair<Array, Array> max_with_indices(const Array& x, std::int64_t axis,
                                                    bool keepdim = false);
// The smallest element along `axis` and, i64, its index; all else as max_with_indices.
HEARTH_API std::pair<Array, Array> min_with_indices(const Array& x, std::int64_t axis,
                                                    bool keepdim = false);

}  // namespace v0
}  // namespace hearth
