// An array as text: dtype and shape, then its elements as nested rows.
#include "hearth/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <sstream>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "core/packed/decode.h"
#include "graph/record/element.h"
#include "graph/record/node.h"
#include "hearth/array.h"

namespace hearth {
namespace {

template <class T, class... Precision>
std::string written(T value, std::chars_format format, Precision... precision) {
  char text[512];  // the longest: 309 digits, a point and 100 more
  return {text, std::to_chars(text, std::end(text), value, format, precision...).ptr};
}

// The fewest digits after the point of those numbers that become `value` as a T of `kDigits` bits.
template <class T, int kDigits>
std::string shortest_half(double value, std::chars_format format) {
  // Below a power of two the next T is half as far as above it: the middle of what rounds to it.
  const double middle = value + std::ldexp(value, -kDigits - 2);
  for (int digits = 0;; ++digits) {
    for (const double near : {value, middle}) {
      const std::string text = written(near, format, digits);
      float read = 0;
      const auto status = std::from_chars(text.data(), text.data() + text.size(), read).ec;
      if (status == std::errc() && static_cast<float>(T(read)) == value) return text;
    }
  }
}

// The fewest digits that name the element of `dtype`, which no other of it is nearer to.
std::string shortest(double value, DType dtype, std::chars_format format) {
  switch (dtype) {
    case DType::f16:
      return shortest_half<float16, 11>(value, format);
    case DType::bf16:
      return shortest_half<bfloat16, 8>(value, format);
    case DType::f32:
      return written(static_cast<float>(value), format);
    default:
      return written(value, format);
  }
}

// The same with at most `precision` digits after the point.
std::string shortest(double value, DType dtype, std::chars_format format,
                     std::optional<int> precision) {
  const std::string all = shortest(value, dtype, format);
  const std::size_t end = std::min(all.find('e'), all.size());
  const std::size_t point = all.find('.');
  if (!precision || point == std::string::npos ||
      end - point - 1 <= static_cast<std::size_t>(*precision)) {
    return all;
  }
  std::string fewer = written(value, format, *precision);
  const std::size_t exponent = std::min(fewer.find('e'), fewer.size());
  if (fewer.find('.') == std::string::npos) return fewer;
  std::size_t digits = fewer.find_last_not_of('0', exponent - 1) + 1;
  if (fewer[digits - 1] == '.') --digits;
  return fewer.erase(digits, exponent - digits);
}

// What an element looks like.
class Words {
 public:
  Words(const std::ostream& out, const PrintOptions& options, DType dtype)
      : options_(options), dtype_(dtype) {
    stream_.copyfmt(out);
    stream_.width(0);
  }

  std::string word(const std::byte* at) {
    stream_.str("");
    with_element(at, dtype_, [&]<class T>(T value) {
      if constexpr (std::is_floating_point_v<T>) {
        write_real(value);
      } else if (is_bool(dtype_)) {
        stream_ << (value != 0 ? "true" : "false");
      } else {
        stream_ << +value;  // bytes are numbers
      }
    });
    return stream_.str();
  }

 private:
  void write_real(double value) {
    if (std::isnan(value)) {
      stream_ << "nan";  // its sign says nothing
    } else if (std::isinf(value) || !(options_.precision || options_.scientific)) {
      stream_ << value;
    } else {
      const double size = std::abs(value);
      const bool is_plain = !options_.scientific && (size == 0 || (size >= 1e-4 && size < 1e16));
      const auto format = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
      stream_ << shortest(value, dtype_, format, options_.precision);
    }
  }

  const PrintOptions& options_;
  const DType dtype_;
  std::ostringstream stream_;
};

// Writes the elements of an array that is evaluated, of a packed one in f32. Few are read together,
// of many only those shown.
class Rows {
 public:
  // `indent`: the column in which the text begins.
  Rows(std::ostream& out, const Array& array, const PrintOptions& options, std::int64_t indent)
      : out_(out),
        node_(*node_of(array)),
        options_(options),
        indent_(indent),
        whole_(array.size() <= options.threshold),
        dtype_(is_packed(node_.dtype) ? DType::f32 : node_.dtype),
        words_(out, options, dtype_) {
    if (!whole_) return;
    strides_ = contiguous_strides(node_.shape);
    elements_.resize(static_cast<std::size_t>(bytes_of(node_.dtype, array.size())));
    array.read(elements_.data(), static_cast<std::int64_t>(elements_.size()), node_.dtype);
    if (is_packed(node_.dtype)) decode_elements(array.size());
  }

  // Offsets of packed elements count from the first, which blocks begin with.
  void print() { print(0, whole_ || is_packed(node_.dtype) ? 0 : node_.layout.offset); }

 private:
  void decode_elements(std::int64_t count) {
    std::vector<std::byte> values(static_cast<std::size_t>(4 * count));
    decode(node_.dtype, elements_.data(), count, reinterpret_cast<float*>(values.data()));
    elements_.swap(values);
  }

  void print(int axis, std::int64_t offset) {
    if (axis == node_.shape.rank()) {
      out_ << word_at(offset);
      return;
    }
    const std::int64_t extent = node_.shape[axis];
    const std::int64_t stride = (whole_ ? strides_ : node_.layout.strides)[axis];
    const bool last = axis + 1 == node_.shape.rank();
    std::int64_t column = indent_ + axis + 1;  // within a row of elements
    out_ << "[";
    for (std::int64_t i = 0; i < extent; ++i) {
      const bool skips = !whole_ && i == options_.edge_items && extent - i > options_.edge_items;
      if (skips) i = extent - options_.edge_items - 1;
      if (last) {
        print_word(skips ? "..." : word_at(offset + i * stride), axis, i == 0, i + 1 == extent,
                   &column);
        continue;
      }
      if (i > 0) separate(axis);
      if (skips) {
        out_ << "...";
      } else {
        print(axis + 1, offset + i * stride);
      }
    }
    out_ << "]";
  }

  // In the next line where this one is full. What follows the word, a comma or brackets, counts.
  void print_word(const std::string& word, int axis, bool is_first, bool is_last,
                  std::int64_t* column) {
    const std::int64_t length = static_cast<std::int64_t>(word.size()) + (is_last ? axis + 1 : 1);
    if (!is_first && *column + 1 + length > options_.line_width) {
      *column = indent_ + axis + 1;
      out_ << ",\n" << std::string(static_cast<std::size_t>(*column), ' ');
    } else if (!is_first) {
      out_ << ", ";
      ++*column;
    }
    out_ << word;
    *column += static_cast<std::int64_t>(word.size()) + 1;
  }

  // A line for each row, and an empty one between matrices.
  void separate(int axis) {
    out_ << ",";
    for (int i = axis + 1; i < node_.shape.rank(); ++i) out_ << "\n";
    out_ << std::string(static_cast<std::size_t>(axis + 1), ' ');
  }

  std::string word_at(std::int64_t offset) {
    const std::int64_t size = size_of(dtype_);
    if (whole_) return words_.word(elements_.data() + offset * size);
    if (is_packed(node_.dtype)) return packed_word_at(offset);
    std::byte bytes[8];
    node_.device->copy_to_host(bytes, node_.storage->address + offset * size, size);
    return words_.word(bytes);
  }

  std::string packed_word_at(std::int64_t offset) {
    const std::int64_t count = block_of(node_.dtype);
    std::int64_t block = offset / count;
    if (offset % count < 0) --block;  // strides may be negative
    std::byte bytes[kMostBlockBytes];
    float values[kMostBlockElements];
    const Address first = node_.storage->address + node_.layout.offset;
    node_.device->copy_to_host(bytes, first + block * size_of(node_.dtype), size_of(node_.dtype));
    decode(node_.dtype, bytes, count, values);
    return words_.word(reinterpret_cast<const std::byte*>(values + (offset - block * count)));
  }

  std::ostream& out_;
  const Node& node_;
  const PrintOptions& options_;
  const std::int64_t indent_;
  const bool whole_;
  const DType dtype_;  // of what is printed
  Words words_;
  Strides strides_;  // of elements_
  std::vector<std::byte> elements_;
};

}  // namespace

inline namespace v0 {

std::ostream& operator<<(std::ostream& out, const Array& array) {
  return print_as("Array", out, array);
}

std::ostream& print_as(const char* word, std::ostream& out, const Array& array) {
  if (!array.defined()) return out << word << " undefined";
  const Node& node = *node_of(array);
  const std::string head =
      word + (" " + std::string(hearth::name(node.dtype))) + " " + to_string(node.shape);
  const bool is_row = node.shape.rank() <= 1;
  array.eval();  // before anything is written: a stream would keep half of a text
  const PrintOptions options = print_options();
  Rows rows(out, array, options, is_row ? static_cast<std::int64_t>(head.size()) + 1 : 0);
  out << head << (is_row ? " " : "\n");
  if (array.size() == 0) return out << "[]";
  rows.print();
  return out;
}

}  // namespace v0
}  // namespace hearth
