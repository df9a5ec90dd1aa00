// Words for parts of an array, as in x.slice(at(0), from(2), all):
//
//   all                whole axis                 from(i), to(j)     [i, end), [0, j)
//   range(a, b, step)  [a, b), every step-th      at(i)              element i; the axis goes
//   ellipsis           all axes in between        new_axis           an axis of extent 1 before
//
// Positions may be negative, counted from the end. A number alone is at(number): both take one
// element and drop the axis.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "hearth/array.h"
#include "hearth/ops.h"

namespace hearth {
inline namespace v0 {

struct At {
  std::int64_t position;
};
struct Ellipsis {};
struct NewAxis {};

constexpr Slice from(std::int64_t start) { return {start, std::nullopt, 1}; }
constexpr Slice to(std::int64_t end) { return {0, end, 1}; }
constexpr Slice range(std::int64_t start, std::int64_t end, std::int64_t step = 1) {
  return {start, end, step};
}
constexpr At at(std::int64_t position) { return {position}; }
inline constexpr Ellipsis ellipsis;
inline constexpr NewAxis new_axis;

// One word, of any kind.
class IndexWord {
 public:
  enum class Kind : std::uint8_t { slice, element, rest, added };

  constexpr IndexWord(const Slice& slice) : slice_(slice) {}                 // NOLINT
  constexpr IndexWord(Array (*)(const Array&, const AllAxes&, bool)) {}      // NOLINT
  constexpr IndexWord(At at) : kind_(Kind::element), slice_{at.position} {}  // NOLINT
  constexpr IndexWord(Ellipsis) : kind_(Kind::rest) {}                       // NOLINT
  constexpr IndexWord(NewAxis) : kind_(Kind::added) {}                       // NOLINT
  IndexWord(std::nullptr_t) = delete;  // NumPy's None is new_axis
  template <std::integral I>
  constexpr IndexWord(I position)  // NOLINT(google-explicit-constructor)
      : IndexWord(At{std::in_range<std::int64_t>(+position) ? static_cast<std::int64_t>(position)
                                                            : INT64_MAX}) {}

  constexpr Kind kind() const noexcept { return kind_; }
  constexpr const Slice& slice() const noexcept { return slice_; }
  constexpr std::int64_t position() const noexcept { return slice_.start; }

 private:
  Kind kind_ = Kind::slice;
  Slice slice_;
};

// By how much a word of type W changes the rank of what it indexes.
template <class W>
inline constexpr int kRankChange = std::same_as<W, At> || std::integral<W> ? -1
                                   : std::same_as<W, NewAxis>              ? 1
                                                                           : 0;

// The part of x that the words name; a view. One ellipsis at most; axes after the words are whole.
// Throws Error{invalid_argument} for more words than axes and for positions out of range.
HEARTH_API Array index(const Array& x, std::initializer_list<IndexWord> words);
// x with `value`, which broadcasts, written over index(x, words). Axes of extent 1 that it has in
// front of those of the part are dropped.
HEARTH_API Array index_assign(const Array& x, std::initializer_list<IndexWord> words,
                              const Array& value);

// What typed tensors call; errors name their methods.
namespace tensor_detail {

// The elements of the first axis at `positions`, which may count from the end.
HEARTH_API Array elements(const Array& x, std::span<const std::int64_t> positions);
// x with `value`, which broadcasts, in place of index(x, words) or of elements(x, positions), where
// the last of equal positions stays.
HEARTH_API Array set(const Array& x, std::initializer_list<IndexWord> words, const Array& value);
HEARTH_API Array set(const Array& x, std::span<const std::int64_t> positions, const Array& value);
// x with `value` where `mask` (bool) is true. Both broadcast to the shape of x, or Error{shape}.
HEARTH_API Array set_where(const char* op, const Array& x, const Array& mask, const Array& value);

}  // namespace tensor_detail

}  // namespace v0
}  // namespace hearth
