// How an array is written: dtype and shape, then its elements as nested rows.
#include <bit>
#include <cmath>
#include <cstring>
#include <ostream>

#include "graph/record/node.h"
#include "graph/record/tape.h"
#include "hearth/array.h"

namespace hearth {
namespace {

// Of an array of more than kWhole elements, this many at each end of an axis.
constexpr std::int64_t kEdge = 3;
constexpr std::int64_t kWhole = 1000;

void print_number(std::ostream& out, double value) {
  if (std::isnan(value)) {
    out << "nan";  // its sign says nothing
  } else {
    out << value;
  }
}

void print_element(std::ostream& out, const std::byte* at, DType dtype) {
  const auto load = [at]<class T>(T) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  };
  switch (dtype) {
    case DType::f64:
      return print_number(out, load(double{}));
    case DType::f32:
      return print_number(out, static_cast<double>(load(float{})));
    case DType::f16:
      return print_number(out, static_cast<double>(static_cast<float>(load(float16{}))));
    case DType::bf16:
      return print_number(out, static_cast<double>(static_cast<float>(load(bfloat16{}))));
    case DType::i64:
      out << load(std::int64_t{});
      return;
    case DType::i32:
      out << load(std::int32_t{});
      return;
    case DType::i16:
      out << load(std::int16_t{});
      return;
    case DType::i8:
      out << static_cast<int>(load(std::int8_t{}));
      return;
    case DType::u64:
      out << load(std::uint64_t{});
      return;
    case DType::u32:
      out << load(std::uint32_t{});
      return;
    case DType::u16:
      out << load(std::uint16_t{});
      return;
    case DType::u8:
      out << static_cast<unsigned>(load(std::uint8_t{}));
      return;
    case DType::bool_:
      out << (load(std::uint8_t{}) != 0 ? "true" : "false");
      return;
  }
}

// Writes the elements of a node that is ready, and reads no others.
class Rows {
 public:
  Rows(std::ostream& out, const Node& node)
      : out_(out), node_(node), whole_(element_count(node.shape) <= kWhole) {}

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
      print(axis + 1, offset + i * node_.layout.strides[axis]);
    }
    out_ << "]";
  }

 private:
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
    std::byte bytes[8];
    node_.device->copy_to_host(bytes, node_.storage->address + offset * size, size);
    print_element(out_, bytes, node_.dtype);
  }

  std::ostream& out_;
  const Node& node_;
  const bool whole_;
};

}  // namespace

inline namespace v0 {

std::ostream& operator<<(std::ostream& out, const Array& array) {
  if (!array.defined()) return out << "Array undefined";
  const Node& node = *array.node();
  out << "Array " << hearth::name(node.dtype) << " " << to_string(node.shape)
      << (node.shape.rank() > 1 ? "\n" : " ");
  if (is_scalar(node)) {
    std::byte bytes[8];
    array.read(bytes, size_of(node.dtype), node.dtype);
    print_element(out, bytes, node.dtype);
    return out;
  }
  array.eval();
  if (element_count(node.shape) == 0) return out << "[]";
  Rows(out, node).print(0, node.layout.offset);
  return out;
}

}  // namespace v0
}  // namespace hearth
