// Numbers about the distribution of elements, and draws by weight. Rules for all functions:
// hearth/ops.h.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hearth/array.h"
#include "hearth/random.h"

namespace hearth {
inline namespace v0 {

// ---- Places in sorted rows
// NaN is beyond infinity, as in sort(), and -0 equals 0. Numeric dtypes; without gradients. What is
// not sorted has some place in its row.

// How many elements of a row of `sorted` [..., n] are before each of `values` [..., m]: those that
// are less, or, if `right`, those that are less or equal. A row [n] serves values of any shape. The
// result has the shape of values, and is i64 or i32.
HEARTH_API Array searchsorted(const Array& sorted, const Array& values, bool right = false,
                              DType dtype = DType::i64);
// searchsorted with `edges` [n] in second place: bin i is (edges[i-1], edges[i]], or, if `right`,
// [edges[i-1], edges[i]).
HEARTH_API Array bucketize(const Array& values, const Array& edges, bool right = false,
                           DType dtype = DType::i64);

// ---- Quantiles and moments

// What quantile() makes of the two elements around a place that is between them, as NumPy's method
// of the name: a value in between by the distance, the lower, the higher, the mean of both, the
// nearer (of equally near ones the one of even index).
enum class Interpolation : std::uint8_t { linear, lower, higher, midpoint, nearest };
// The element at place q (n - 1) of the n sorted elements along `axis`, or of all where there is
// none, for each q in [0, 1]: [number of q, ... without axis, or 1 there if `keepdim`]. NaN where
// there is one among the elements. Gradients go to the elements around. Float dtypes. Over nothing:
// Error{invalid_argument}.
HEARTH_API Array quantile(const Array& x, const std::vector<double>& q,
                          std::optional<std::int64_t> axis = std::nullopt, bool keepdim = false,
                          Interpolation method = Interpolation::linear);

// ---- Counts
// Weights, where given, have the shape of x and are floats or i64: each element counts as much as
// its weight, the result has their dtype, and gradients reach them. Else counts are i64.

// How often each number occurs in x, integers of any shape: [length], of the numbers below
// `length`. Without a length it is one more than the largest number, at least `least`: the op waits
// for x, which Statistics::syncs counts, and a negative number is an Error{invalid_argument}. With
// a length numbers outside of it are not counted.
HEARTH_API Array bincount(const Array& x, const Array& weights = Array(), std::int64_t least = 0,
                          std::optional<std::int64_t> length = std::nullopt);

// From low to high.
struct Bounds {
  double low;
  double high;
};
// How many elements of x are in each of `bins` bins of one width between the bounds, which belong
// to them; and the edges [bins + 1] of the bins, in x's dtype. Elements outside and NaN are not
// counted. Edges that the dtype cannot tell apart coincide; an element on them is in the last of
// their bins. Without bounds: the least and the largest of x, 0.5 to each side where they are
// equal; nothing is counted where x has NaN or infinities. Float dtypes. Error{invalid_argument}
// unless bounds are finite and ascend.
HEARTH_API std::pair<Array, Array> histogram(const Array& x, std::int64_t bins,
                                             const std::optional<Bounds>& bounds = std::nullopt,
                                             const Array& weights = Array());
// How many are in each of the bins [edges[i], edges[i + 1]) between `edges` [n], which ascend and
// have x's dtype: [n - 1]. The last edge belongs to the last bin. Numeric dtypes.
HEARTH_API Array histogram_by_edges(const Array& x, const Array& edges,
                                    const Array& weights = Array());

// ---- Drawing by weight
// Weights are [..., categories], draws i64 [..., count], without gradients. Weights need not add up
// to 1; one that is negative or not finite weighs 0. Where all weigh 0, any category may be drawn.
// Float dtypes. Random words are those of hearth/random.h, of `source` or else of the thread's
// generator.

// `count` categories of each row of `weights`, drawn in proportion to them. Without replacement no
// category is drawn twice, those of weight 0 after all others; there are at least `count` of them.
HEARTH_API Array multinomial(const Array& weights, std::int64_t count, bool replacement = false,
                             Generator* source = nullptr);
// `count` categories of each row of `weights`, drawn as by multinomial with replacement. Weights
// count in steps of 2^-31 of the largest in their row, beyond
// 2^13 categories of 2^-44 times their number; draws are the same on every device.
HEARTH_API Array categorical(const Array& weights, std::int64_t count, Generator* source = nullptr);

}  // namespace v0
}  // namespace hearth
