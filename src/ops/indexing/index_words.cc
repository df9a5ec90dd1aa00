// index() and index_assign(): words are slices and a change of shape. Lists of positions and masks.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/broadcast.h"
#include "core/throw_as.h"
#include "hearth/indexing.h"
#include "ops/definition/rules.h"

namespace hearth {
inline namespace v0 {
namespace {

using Kind = IndexWord::Kind;

struct Indexed {
  std::vector<Slice> slices;
  std::vector<bool> kept;  // of each axis, whether it stays
  std::vector<int> added;  // axes of extent 1, by their position in the result
};

// The slice of one element, which has to be there.
Slice element(const char* op, std::int64_t position, int axis, std::int64_t extent) {
  const std::int64_t at = position < 0 ? position + extent : position;
  if (at < 0 || at >= extent) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": position out of range; got " +
                                                 std::to_string(position) + " of axis " +
                                                 std::to_string(axis) + ", expected one of " +
                                                 std::to_string(extent) + " elements");
  }
  return {at, at + 1, 1};
}

// How many axes of x the words name.
int named_axes(const char* op, std::initializer_list<IndexWord> words, const Shape& shape) {
  int named = 0, ellipses = 0;
  for (const IndexWord& word : words) {
    named += word.kind() == Kind::slice || word.kind() == Kind::element ? 1 : 0;
    ellipses += word.kind() == Kind::rest ? 1 : 0;
  }
  if (ellipses > 1) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": ellipses; got " +
                                                 std::to_string(ellipses) + ", expected at most 1");
  }
  if (named > shape.rank()) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": more words than axes; got " +
                                                 std::to_string(named) + " for shape " +
                                                 to_string(shape) + ", expected at most " +
                                                 std::to_string(shape.rank()));
  }
  return named;
}

Indexed resolve(const char* op, const Shape& shape, std::initializer_list<IndexWord> words) {
  const int skipped = shape.rank() - named_axes(op, words, shape);
  Indexed indexed;
  int out = 0;
  for (const IndexWord& word : words) {
    const int axis = static_cast<int>(indexed.slices.size());
    switch (word.kind()) {
      case Kind::slice:
        indexed.slices.push_back(word.slice());
        indexed.kept.push_back(true);
        ++out;
        break;
      case Kind::element:
        indexed.slices.push_back(element(op, word.position(), axis, shape[axis]));
        indexed.kept.push_back(false);
        break;
      case Kind::rest:
        indexed.slices.insert(indexed.slices.end(), static_cast<std::size_t>(skipped), Slice());
        indexed.kept.insert(indexed.kept.end(), static_cast<std::size_t>(skipped), true);
        out += skipped;
        break;
      case Kind::added:
        indexed.added.push_back(out++);
        break;
    }
  }
  indexed.kept.resize(static_cast<std::size_t>(shape.rank()), true);
  return indexed;
}

// `part`, which has all axes of what was sliced, in the shape that the words ask for.
Shape shape_of_index(const Indexed& indexed, const Shape& part) {
  Shape shape;
  for (int i = 0; i < part.rank(); ++i) {
    if (indexed.kept[static_cast<std::size_t>(i)]) shape.push_back(part[i]);
  }
  for (const int position : indexed.added) shape.insert(position, 1);
  return shape;
}

}  // namespace

Array index(const Array& x, std::initializer_list<IndexWord> words) try {
  const Indexed indexed = resolve("index", x.shape(), words);
  const Array part = slice(x, indexed.slices);
  return reshape(part, shape_of_index(indexed, part.shape()));
} catch (const Error& error) {
  throw_as("index", error);
}

Array index_assign(const Array& x, std::initializer_list<IndexWord> words, const Array& value) try {
  const Indexed indexed = resolve("index_assign", x.shape(), words);
  if (value.is_scalar()) return slice_assign(x, indexed.slices, value);
  const Shape part = slice(x, indexed.slices).shape();
  const Shape wanted = shape_of_index(indexed, part);
  Shape shape = value.shape();
  while (shape.rank() > wanted.rank() && shape[0] == 1) shape.erase(0);
  return slice_assign(x, indexed.slices, reshape(expand(reshape(value, shape), wanted), part));
} catch (const Error& error) {
  throw_as("index_assign", error);
}

namespace tensor_detail {
namespace {

// Positions counted from the start.
std::vector<std::int64_t> positions_in(const char* op, const Shape& shape,
                                       std::span<const std::int64_t> positions) {
  std::vector<std::int64_t> out;
  for (const std::int64_t position : positions) {
    out.push_back(element(op, position, 0, shape[0]).start);
  }
  return out;
}

// Positions as a slice of the axis, in their order; none where they are not one.
std::optional<Slice> evenly_spaced(std::span<const std::int64_t> at) {
  const std::int64_t step = at.size() > 1 ? at[1] - at[0] : 1;
  if (step == 0) return std::nullopt;
  for (std::size_t i = 1; i < at.size(); ++i) {
    if (at[i] - at[i - 1] != step) return std::nullopt;
  }
  if (step < 0) return Slice{at.back(), at.front() + 1, step};
  return Slice{at.front(), at.back() + 1, step};
}

void require_inside(const char* op, const char* what, const Array& operand, const Array& x) {
  if (operand.is_scalar() || broadcasts_to(operand.shape(), x.shape())) return;
  throw Error(ErrorCode::shape, std::string(op) + ": " + what + " does not broadcast to the " +
                                    "tensor; got " + to_string(operand.shape()) + " for " +
                                    to_string(x.shape()) + ", expected equal extents or 1");
}

}  // namespace

Array elements(const Array& x, std::span<const std::int64_t> positions) {
  const std::vector<std::int64_t> at = positions_in("index", x.shape(), positions);
  const Shape shape = {static_cast<std::int64_t>(at.size())};
  return select(x, Array::from_data(at, shape, x.device()), 0);
}

Array set(const Array& x, std::initializer_list<IndexWord> words, const Array& value) try {
  return index_assign(x, words, value);
} catch (const Error& error) {
  throw_as("set", error);
}

// Writes in place where the positions are evenly spaced, one for all, or few, one each. Else one
// choice of each row, which reads and writes all of x: what is recorded does not grow with them.
constexpr std::size_t kFewPositions = 8;
Array set(const Array& x, std::span<const std::int64_t> positions, const Array& value) try {
  const std::vector<std::int64_t> at = positions_in("set", x.shape(), positions);
  Shape shape = x.shape();
  shape[0] = static_cast<std::int64_t>(at.size());
  const Array values = value.is_scalar() ? value : expand(value, shape);
  if (at.empty()) return slice_assign(x, {{0, 0}}, values);
  if (const std::optional<Slice> slice = evenly_spaced(at)) {
    return slice_assign(x, {*slice}, values);
  }
  if (at.size() <= kFewPositions) {
    Array out = x;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      out = slice_assign(out, {{at[i], at[i] + 1}},
                         value.is_scalar() ? value : narrow(values, 0, row, 1));
    }
    return out;
  }

  const auto extent = static_cast<std::size_t>(x.shape()[0]);
  std::vector<std::byte> is_set(extent, std::byte{0});
  std::vector<std::int64_t> from(extent, 0);  // the row of `values`, where set
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto row = static_cast<std::size_t>(at[i]);
    is_set[row] = std::byte{1};
    from[row] = static_cast<std::int64_t>(i);
  }
  Shape rows = Dims::filled(x.rank(), 1);
  rows[0] = x.shape()[0];
  const Array mask = Array::from_bytes(is_set, DType::bool_, rows, x.device());
  if (value.is_scalar() || value.rank() < x.rank() || value.shape(0) == 1) {
    return where(mask, value, x);  // all positions get the same
  }
  return where(mask, select(values, Array::from_data(from, {rows[0]}, x.device()), 0), x);
} catch (const Error& error) {
  throw_as("set", error);
}

Array set_where(const char* op, const Array& x, const Array& mask, const Array& value) try {
  require_inside(op, "mask", mask, x);
  require_inside(op, "value", value, x);
  return where(mask, value, x);
} catch (const Error& error) {
  throw_as(op, error);
}

}  // namespace tensor_detail
}  // namespace v0
}  // namespace hearth
