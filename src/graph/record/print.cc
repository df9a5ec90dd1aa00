// An array as text: dtype and shape, then its elements as nested rows.
#include <cmath>
#include <ostream>
#include <type_traits>
#include <vector>

#include "graph/record/element.h"
#include "graph/record/node.h"
#include "hearth/array.h"

namespace hearth {
namespace {

// Of an array of more than kWhole elements, this many at each end of an axis.
constexpr std::int64_t kEdge = 3;
constexpr std::int64_t kWhole = 1000;

void print_element(std::ostream& out, const std::byte* at, DType dtype) {
  with_element(at, dtype, [&]<class T>(T value) {
    if (is_bool(dtype)) {
      out << (value != 0 ? "true" : "false");
    } else if constexpr (!std::is_floating_point_v<T>) {
      out << +value;  // bytes are numbers
    } else if (std::isnan(value)) {
      out << "nan";  // its sign says nothing
    } else {
      out << static_cast<double>(value);
    }
  });
}

// Writes the elements of an array that is evaluated. Few are read together, of many only those
// shown.
class Rows {
 public:
  Rows(std::ostream& out, const Array& array)
      : out_(out), node_(*array.node()), whole_(array.size() <= kWhole) {
    if (!whole_) return;
    strides_ = contiguous_strides(node_.shape);
    elements_.resize(static_cast<std::size_t>(array.size() * size_of(node_.dtype)));
    array.read(elements_.data(), static_cast<std::int64_t>(elements_.size()), node_.dtype);
  }

  void print() { print(0, whole_ ? 0 : node_.layout.offset); }

 private:
  void print(int axis, std::int64_t offset) {
    if (axis == node_.shape.rank()) return print_at(offset);
    const std::int64_t extent = node_.shape[axis];
    const bool last = axis + 1 == node_.shape.rank();
    out_ << "[";
    for (std::int64_t i = 0; i < extent; ++i) {
      if (i > 0) separate(axis, last);
      if (!whole_ && extent > 2 * kEdge && i == kEdge) {
        out_ << "...";
        separate(axis, last);
        i = extent - kEdge;
      }
      print(axis + 1, offset + i * (whole_ ? strides_ : node_.layout.strides)[axis]);
    }
    out_ << "]";
  }

  // A line for each row, and an empty one between matrices.
  void separate(int axis, bool last) {
    if (last) {
      out_ << ", ";
      return;
    }
    out_ << ",";
    for (int i = axis + 1; i < node_.shape.rank(); ++i) out_ << "\n";
    for (int i = 0; i <= axis; ++i) out_ << " ";
  }

  void print_at(std::int64_t offset) {
    const std::int64_t size = size_of(node_.dtype);
    if (whole_) return print_element(out_, elements_.data() + offset * size, node_.dtype);
    std::byte bytes[8];
    node_.device->copy_to_host(bytes, node_.storage->address + offset * size, size);
    print_element(out_, bytes, node_.dtype);
  }

  std::ostream& out_;
  const Node& node_;
  const bool whole_;
  Strides strides_;  // of elements_
  std::vector<std::byte> elements_;
};

}  // namespace

inline namespace v0 {

std::ostream& operator<<(std::ostream& out, const Array& array) {
  if (!array.defined()) return out << "Array undefined";
  const Node& node = *array.node();
  out << "Array " << hearth::name(node.dtype) << " " << to_string(node.shape)
      << (node.shape.rank() > 1 ? "\n" : " ");
  array.eval();
  if (array.size() == 0) return out << "[]";
  Rows(out, array).print();
  return out;
}

}  // namespace v0
}  // namespace hearth
