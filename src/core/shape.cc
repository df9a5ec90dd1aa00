#include "hearth/shape.h"

#include <limits>
#include <ostream>

namespace hearth {
inline namespace v0 {

void Dims::assign(const std::int64_t* values, std::size_t count) {
  if (count > static_cast<std::size_t>(kMaxRank)) {
    throw Error(ErrorCode::shape, "shape: too many axes; got " + std::to_string(count) +
                                      ", expected at most " + std::to_string(kMaxRank));
  }
  rank_ = static_cast<int>(count);
  for (int i = 0; i < rank_; ++i) values_[i] = values[i];
}

void Dims::resize(int rank, std::int64_t value) {
  if (rank < 0 || rank > kMaxRank) {
    throw Error(ErrorCode::shape, "shape: too many axes; got " + std::to_string(rank) +
                                      ", expected at most " + std::to_string(kMaxRank));
  }
  for (int i = rank_; i < rank; ++i) values_[i] = value;
  rank_ = rank;
}

void Dims::push_back(std::int64_t value) { resize(rank_ + 1, value); }

void Dims::insert(int position, std::int64_t value) {
  resize(rank_ + 1, value);
  for (int i = rank_ - 1; i > position; --i) values_[i] = values_[i - 1];
  values_[position] = value;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (int i = 0; i < dims.rank(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << to_string(dims); }

void check_shape(const char* op, const Shape& shape) {
  std::int64_t product = 8;
  bool overflow = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      throw Error(ErrorCode::shape, std::string(op) + ": negative extent; got " + to_string(shape) +
                                        ", expected extents of at least 0");
    }
    // Strides are products without the extents of 0.
    if (extent != 0) overflow |= __builtin_mul_overflow(product, extent, &product);
  }
  if (overflow) {
    throw Error(ErrorCode::shape, std::string(op) + ": shape too large; got " + to_string(shape) +
                                      ", expected a product of extents below 2^60");
  }
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = Strides::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  Shape out = Shape::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a[a.rank() - i] : 1;
    const std::int64_t y = i <= b.rank() ? b[b.rank() - i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw Error(ErrorCode::shape, std::string(op) + ": shapes do not broadcast; got " +
                                        to_string(a) + " and " + to_string(b) +
                                        ", expected equal extents or 1 on each axis");
    }
    out[rank - i] = x == 1 ? y : x;
  }
  return out;
}

int normalize_axis(const char* op, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": axis out of range; got " +
                                                 std::to_string(axis) + ", expected at least " +
                                                 std::to_string(-rank) + " and below " +
                                                 std::to_string(rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace v0
}  // namespace hearth
