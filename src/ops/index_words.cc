// index() and index_assign(): words are slices and a change of shape.
#include <string>
#include <vector>

#include "core/throw_as.h"
#include "hearth/indexing.h"

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

}  // namespace v0
}  // namespace hearth
