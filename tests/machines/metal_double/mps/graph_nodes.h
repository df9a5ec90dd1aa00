// The nodes of a graph of the Metal double, and what they come to: plain loops over numbers of 64
// bits that are rounded to each tensor's dtype.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devices/metal/objc/types.h"

namespace hearth::metal::fake {

using GraphShape = std::vector<UInteger>;
using Numbers = std::vector<double>;

// Of MPSDataType.
inline constexpr unsigned kF32 = 0x10000020, kF16 = 0x10000010, kBf16 = 0x90000010;
inline bool is_float_type(unsigned type) { return type == kF32 || type == kF16 || type == kBf16; }
inline std::size_t bytes_of(unsigned type) { return type == kF32 ? 4 : 2; }
double rounded(double value, unsigned type);
double load_number(const std::byte* memory, unsigned type);
void store_number(std::byte* memory, unsigned type, double value);

UInteger count_of(const GraphShape& shape);
std::string shape_text(const GraphShape& shape);
// Of what two tensors make, element by element; empty where they do not fit. Shapes have an axis.
GraphShape broadcast_shape(const GraphShape& a, const GraphShape& b);

enum class NodeKind {
  placeholder,
  constant,
  cast,
  transpose,
  reshape,
  broadcast,
  matmul,
  add,
  multiply,
  relu,
  tanh,
  band,
  attention,
};

struct GraphNode {
  NodeKind kind = NodeKind::placeholder;
  unsigned type = kF32;
  GraphShape shape = {};
  std::vector<std::shared_ptr<const GraphNode>> inputs = {};
  double number = 0;         // of a constant; the scale of attention
  long first = 0, last = 0;  // axes of a transpose; of a band what is below and above
};
using NodePointer = std::shared_ptr<const GraphNode>;

// Sums of products have the dtype of the tensor, at every step: who wants better casts before.
Numbers evaluate(const NodePointer& node, std::map<const GraphNode*, Numbers>& known);

}  // namespace hearth::metal::fake
