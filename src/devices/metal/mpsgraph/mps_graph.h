// A graph of Metal Performance Shaders while it is built, and what it is compiled to.
#pragma once

#include <cstddef>
#include <vector>

#include "devices/metal/objc/objc.h"
#include "hearth/dtype.h"

namespace hearth::metal {

using MpsShape = std::vector<UInteger>;  // the slowest axis first

// MPSDataType of f32, f16 and bf16; 0 of others.
unsigned mps_type(DType dtype);

struct MpsExecutable {
  Owned executable;                // an MPSGraphExecutable
  std::vector<std::size_t> feeds;  // which input its first is, and so on
};

// Tensors belong to the graph. Rounding is explicit: elements of 16 bits are cast when they are
// read and before they are written, since the width of MPSGraph's sums of them is not documented,
// and others found them narrow.
class MpsGraph {
 public:
  explicit MpsGraph(const ObjectiveC& objc);

  // An input, as f32.
  Id input(const MpsShape& shape, DType dtype);
  // With two axes exchanged.
  Id transposed(Id x, UInteger axis, UInteger other) const;
  Id reshaped(Id x, const MpsShape& shape) const;
  Id broadcast(Id x, const MpsShape& shape) const;
  Id matmul(Id a, Id b) const { return binary(messages::graph_matmul, a, b); }
  Id add(Id a, Id b) const { return binary(messages::graph_add, a, b); }
  Id multiply(Id a, Id b) const { return binary(messages::graph_multiply, a, b); }
  Id scalar(double value) const;
  Id relu(Id x) const;
  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  Id gelu_tanh(Id x) const;
  // softmax(scale q k^T + mask) v over [batch, heads, rows, columns]; `mask` may be null.
  Id attention(Id q, Id k, Id v, Id mask, double scale) const;
  // 0 for columns up to `first` of the first row, one more in each row after it, and lower than any
  // score after them.
  Id causal_mask(UInteger rows, UInteger columns, UInteger first) const;

  // For what gives `result`, as `dtype`. Throws Error{unsupported} where there is no executable to
  // be had, or none that tells its inputs.
  MpsExecutable compile(Id graph_device, Id result, DType dtype) const;

 private:
  Id binary(Message<Id(Id, Id, Id), false> message, Id a, Id b) const;
  Id cast(Id x, DType dtype) const;

  const ObjectiveC& objc_;
  const Owned graph_;
  std::vector<Id> placeholders_;
  std::vector<Owned> types_;  // of placeholders_
};

}  // namespace hearth::metal
