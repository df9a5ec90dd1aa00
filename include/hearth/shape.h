// Extents of an array, outermost first.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

inline constexpr int kMaxRank = 8;

// A short list of 64-bit integers held in place: extents, strides or axes. At most kMaxRank long;
// longer throws Error{shape}. Extents are never negative once an op has taken them.
class Dims {
 public:
  Dims() noexcept {}  // NOLINT(modernize-use-equals-default): leaves values_ unset
  Dims(std::initializer_list<std::int64_t> values) { assign(values.begin(), values.size()); }
  Dims(const std::int64_t* values, std::size_t count) { assign(values, count); }
  explicit Dims(std::span<const std::int64_t> values) { assign(values.data(), values.size()); }
  template <std::size_t N>
  Dims(const std::array<std::int64_t, N>& values) {
    assign(values.data(), N);
  }
  static Dims filled(int rank, std::int64_t value) {
    Dims dims;
    dims.resize(rank, value);
    return dims;
  }

  Dims(const Dims& other) noexcept : rank_(other.rank_) {
    for (int i = 0; i < rank_; ++i) values_[i] = other.values_[i];
  }
  Dims& operator=(const Dims& other) noexcept {
    rank_ = other.rank_;
    for (int i = 0; i < rank_; ++i) values_[i] = other.values_[i];
    return *this;
  }

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return rank_; }
  bool empty() const noexcept { return rank_ == 0; }
  std::int64_t& operator[](int i) noexcept { return values_[i]; }
  std::int64_t operator[](int i) const noexcept { return values_[i]; }
  std::int64_t* data() noexcept { return values_; }
  const std::int64_t* data() const noexcept { return values_; }
  std::int64_t* begin() noexcept { return values_; }
  std::int64_t* end() noexcept { return values_ + rank_; }
  const std::int64_t* begin() const noexcept { return values_; }
  const std::int64_t* end() const noexcept { return values_ + rank_; }
  std::int64_t back() const noexcept { return values_[rank_ - 1]; }
  std::span<const std::int64_t> span() const noexcept {
    return {values_, static_cast<std::size_t>(rank_)};
  }

  HEARTH_API void push_back(std::int64_t value);
  HEARTH_API void resize(int rank, std::int64_t value = 0);
  HEARTH_API void insert(int position, std::int64_t value);
  void erase(int position) noexcept {
    for (int i = position; i + 1 < rank_; ++i) values_[i] = values_[i + 1];
    --rank_;
  }

  friend bool operator==(const Dims& a, const Dims& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }

 private:
  HEARTH_API void assign(const std::int64_t* values, std::size_t count);

  // Only the first rank_ entries are ever read; leaving the rest unset keeps recording cheap.
  int rank_ = 0;
  std::int64_t values_[kMaxRank];
};

using Shape = Dims;
using Strides = Dims;

// "[2, 3]".
HEARTH_API std::string to_string(const Dims& dims);

HEARTH_API std::ostream& operator<<(std::ostream& out, const Dims& dims);

// Number of elements; 1 for rank 0. The product of a recorded shape never overflows.
inline std::int64_t element_count(const Shape& shape) noexcept {
  std::int64_t count = 1;
  for (int i = 0; i < shape.rank(); ++i) count *= shape[i];
  return count;
}

// Checks that every extent is at least 0 and that the product of those that are not 0 is below
// 2^60. Throws Error{shape} with `op` in front.
HEARTH_API void check_shape(const char* op, const Shape& shape);

// Strides in elements of a dense row-major array.
HEARTH_API Strides contiguous_strides(const Shape& shape);

// The shape both broadcast to: aligned at the last axis, extent 1 stretches. Throws Error{shape}.
HEARTH_API Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

// An axis in [-rank, rank) as one in [0, rank). Throws Error{invalid_argument}.
HEARTH_API int normalize_axis(const char* op, std::int64_t axis, int rank);

}  // namespace v0
}  // namespace hearth
