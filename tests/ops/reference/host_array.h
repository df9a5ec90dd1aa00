// Arrays of doubles on the host, and ops on them written for nothing but clarity: what the
// table-driven tests compare with.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace hearth::testing {

struct HostArray {
  Shape shape;
  std::vector<double> values;
};

// Elements of the row-major `shape` in order, as index lists.
class Indices {
 public:
  explicit Indices(const Shape& shape) : shape_(shape), at_(Dims::filled(shape.rank(), 0)) {
    done_ = element_count(shape) == 0;
  }
  bool done() const { return done_; }
  const Dims& operator*() const { return at_; }
  void advance() {
    for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
      if (++at_[axis] < shape_[axis]) return;
      at_[axis] = 0;
    }
    done_ = true;
  }

 private:
  Shape shape_;
  Dims at_;
  bool done_;
};

inline std::size_t offset_of(const Shape& shape, const Dims& at) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) offset = offset * shape[axis] + at[axis];
  return static_cast<std::size_t>(offset);
}

// The nearest value that `dtype` holds: halves are rounded, integers wrap.
double rounded(double value, DType dtype);

// What the op gives for these inputs and parameters in infinite range and double precision, or
// nothing for ops that are not written out here. `dtype` is that of the inputs that vary, `output`
// which of the op's results it is.
std::optional<HostArray> host_reference(std::string_view op, const std::vector<HostArray>& inputs,
                                        const Params& params, DType dtype, int output = 0);

}  // namespace hearth::testing
