#include "machines/metal_double/mps/graph_nodes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace hearth::metal::fake {
namespace {

struct Format {
  int digits;  // with the first one, which is not stored
  int least;   // the exponent of the smallest number's unit
  double most;
};

Format format_of(unsigned type) {
  if (type == kF16) return {11, -24, 65504};
  if (type == kBf16) return {8, -133, 3.3895313892515355e38};
  return {24, -149, 3.4028234663852886e38};
}

// Where an element of `shape` lies in a tensor that is broadcast to it.
class Places {
 public:
  Places(const GraphShape& from, const GraphShape& to) : to_(to), steps_(to.size()) {
    UInteger step = 1;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t axis = from.size() - 1 - i;
      steps_[to.size() - 1 - i] = from[axis] == 1 ? 0 : step;
      step *= from[axis];
    }
  }
  std::size_t operator()(std::size_t element) const {
    std::size_t place = 0;
    for (std::size_t axis = to_.size(); axis-- > 0;) {
      place += element % to_[axis] * steps_[axis];
      element /= to_[axis];
    }
    return place;
  }

 private:
  const GraphShape to_;
  std::vector<std::size_t> steps_;
};

template <class F>
Numbers each_pair(const GraphNode& node, const Numbers& a, const Numbers& b, F f) {
  const Places in_a(node.inputs[0]->shape, node.shape), in_b(node.inputs[1]->shape, node.shape);
  Numbers out(count_of(node.shape));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = rounded(f(a[in_a(i)], b[in_b(i)]), node.type);
  }
  return out;
}

template <class F>
Numbers each(const GraphNode& node, Numbers x, F f) {
  for (double& value : x) value = rounded(f(value), node.type);
  return x;
}

Numbers transposed(const GraphNode& node, const Numbers& x) {
  const GraphShape& from = node.inputs[0]->shape;
  std::vector<std::size_t> steps(from.size(), 1);
  for (std::size_t axis = from.size() - 1; axis-- > 0;)
    steps[axis] = steps[axis + 1] * from[axis + 1];
  std::swap(steps[static_cast<std::size_t>(node.first)],
            steps[static_cast<std::size_t>(node.last)]);
  Numbers out(x.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t rest = i, place = 0;
    for (std::size_t axis = from.size(); axis-- > 0;) {
      place += rest % node.shape[axis] * steps[axis];
      rest /= node.shape[axis];
    }
    out[i] = x[place];
  }
  return out;
}

// The matrices that go with each other: the axes before the last two, broadcast.
struct Batch {
  explicit Batch(const GraphNode& node) : shape(node.shape.begin(), node.shape.end() - 2) {
    if (shape.empty()) shape = {1};
  }
  Places places(const GraphShape& of) const {
    GraphShape matrices(of.begin(), of.end() - 2);
    if (matrices.empty()) matrices = {1};
    return {matrices, shape};
  }
  GraphShape shape;
};

Numbers product(const GraphNode& node, const Numbers& a, const Numbers& b) {
  const Batch batch(node);
  const GraphShape& of_a = node.inputs[0]->shape;
  const Places in_a = batch.places(of_a), in_b = batch.places(node.inputs[1]->shape);
  const std::size_t m = of_a[of_a.size() - 2], k = of_a.back(), n = node.shape.back();
  Numbers out(count_of(node.shape));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t column = i % n, row = i / n % m, matrix = i / n / m;
    const double* const left = a.data() + in_a(matrix) * m * k + row * k;
    const double* const right = b.data() + in_b(matrix) * k * n + column;
    double sum = 0;
    for (std::size_t at = 0; at < k; ++at) {
      sum += left[at] * right[at * n];
      if (node.type != kF32) sum = rounded(sum, node.type);
    }
    out[i] = rounded(sum, node.type);
  }
  return out;
}

Numbers band(const GraphNode& node, Numbers x) {
  const auto rows = static_cast<long>(node.shape[node.shape.size() - 2]);
  const auto columns = static_cast<long>(node.shape.back());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long column = static_cast<long>(i) % columns, row = static_cast<long>(i) / columns % rows;
    const bool inside = (node.first < 0 || row - column <= node.first) &&
                        (node.last < 0 || column - row <= node.last);
    if (!inside) x[i] = 0;
  }
  return x;
}

Numbers attention(const GraphNode& node, const std::vector<Numbers>& in) {
  const Batch batch(node);
  const GraphShape& q = node.inputs[0]->shape;
  const GraphShape& k = node.inputs[1]->shape;
  const std::size_t rows = q[2], d = q[3], keys = k[2], columns = node.shape[3];
  const Places in_q = batch.places(q), in_k = batch.places(k);
  const Places in_v = batch.places(node.inputs[2]->shape);
  const GraphShape whole = {node.shape[0], node.shape[1], rows, keys};
  Numbers out(count_of(node.shape));
  Numbers scores(keys);
  for (std::size_t line = 0; line < out.size() / columns; ++line) {
    const std::size_t row = line % rows, matrix = line / rows;
    double top = -INFINITY, total = 0;
    for (std::size_t key = 0; key < keys; ++key) {
      double sum = 0;
      for (std::size_t i = 0; i < d; ++i) {
        sum +=
            in[0][(in_q(matrix) * rows + row) * d + i] * in[1][(in_k(matrix) * keys + key) * d + i];
        if (node.type != kF32) sum = rounded(sum, node.type);
      }
      sum *= node.number;
      if (in.size() > 3) {
        sum += in[3][Places(node.inputs[3]->shape, whole)(line * keys + key)];
      }
      scores[key] = rounded(sum, node.type);
      top = std::max(top, scores[key]);
    }
    for (double& score : scores) total += score = std::exp(score - top);
    for (std::size_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::size_t key = 0; key < keys; ++key) {
        sum += scores[key] / total * in[2][(in_v(matrix) * keys + key) * columns + column];
        if (node.type != kF32) sum = rounded(sum, node.type);
      }
      out[line * columns + column] = rounded(sum, node.type);
    }
  }
  return out;
}

Numbers work_out(const GraphNode& node, const std::vector<Numbers>& in) {
  switch (node.kind) {
    case NodeKind::constant:
      return Numbers(count_of(node.shape), rounded(node.number, node.type));
    case NodeKind::cast:
      return each(node, in[0], [](double x) { return x; });
    case NodeKind::transpose:
      return transposed(node, in[0]);
    case NodeKind::broadcast: {
      const Places place(node.inputs[0]->shape, node.shape);
      Numbers out(count_of(node.shape));
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[0][place(i)];
      return out;
    }
    case NodeKind::matmul:
      return product(node, in[0], in[1]);
    case NodeKind::add:
      return each_pair(node, in[0], in[1], [](double a, double b) { return a + b; });
    case NodeKind::multiply:
      return each_pair(node, in[0], in[1], [](double a, double b) { return a * b; });
    case NodeKind::relu:
      return each(node, in[0], [](double x) { return x < 0 ? 0 : x; });
    case NodeKind::tanh:
      return each(node, in[0], [](double x) { return std::tanh(x); });
    case NodeKind::band:
      return band(node, in[0]);
    case NodeKind::attention:
      return attention(node, in);
    case NodeKind::placeholder:
    case NodeKind::reshape:
      break;
  }
  return in.empty() ? Numbers() : in[0];
}

}  // namespace

double rounded(double value, unsigned type) {
  const Format format = format_of(type);
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - format.digits, format.least);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::fabs(nearest) > format.most ? std::copysign(INFINITY, value) : nearest;
}

double load_number(const std::byte* memory, unsigned type) {
  if (type == kF32) {
    float value = 0;
    std::memcpy(&value, memory, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, memory, sizeof bits);
  const double sign = bits >> 15 != 0 ? -1 : 1;
  const Format format = format_of(type);
  const int fraction_bits = format.digits - 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits,
            fraction = bits & ((1 << fraction_bits) - 1);
  if (exponent == (0x7fff >> fraction_bits)) return fraction != 0 ? NAN : sign * INFINITY;
  const int whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  return sign * std::ldexp(whole, format.least + std::max(exponent, 1) - 1);
}

void store_number(std::byte* memory, unsigned type, double value) {
  value = rounded(value, type);
  if (type == kF32) {
    const auto single = static_cast<float>(value);
    std::memcpy(memory, &single, sizeof single);
    return;
  }
  const Format format = format_of(type);
  const int fraction_bits = format.digits - 1;
  int bits = 0x7fff >> fraction_bits << fraction_bits;  // infinity
  if (std::isnan(value)) {
    bits |= 1;
  } else if (value == 0) {
    bits = 0;
  } else if (std::isfinite(value)) {
    // As many units as the least exponent has, doubled with each exponent.
    int exponent = 0;
    std::frexp(value, &exponent);
    const int unit = std::max(exponent - format.digits, format.least);
    const int whole = static_cast<int>(std::ldexp(std::fabs(value), -unit));
    bits = ((unit - format.least) << fraction_bits) + whole;
  }
  if (std::signbit(value)) bits |= 0x8000;
  const auto half = static_cast<std::uint16_t>(bits);
  std::memcpy(memory, &half, sizeof half);
}

UInteger count_of(const GraphShape& shape) {
  UInteger count = 1;
  for (const UInteger extent : shape) count *= extent;
  return count;
}

std::string shape_text(const GraphShape& shape) {
  std::string text = "[";
  for (const UInteger extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

GraphShape broadcast_shape(const GraphShape& a, const GraphShape& b) {
  GraphShape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const UInteger x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const UInteger y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return {};
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Numbers evaluate(const NodePointer& node, std::map<const GraphNode*, Numbers>& known) {
  const auto found = known.find(node.get());
  if (found != known.end()) return found->second;
  std::vector<Numbers> in;
  for (const NodePointer& input : node->inputs) in.push_back(evaluate(input, known));
  return known[node.get()] = work_out(*node, in);
}

}  // namespace hearth::metal::fake
