// Rows of functions of all op families, of two dtypes and two sizes each, on every device.
// bench/torch_families.py has the same functions in PyTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hearth/array.h"
#include "hearth/device.h"

namespace hearth::tools {

// A function's call, with its arguments.
using BenchCall = std::function<Array()>;

// Makes arguments, evaluated, of a row's dtype and of a size that the device takes some time for.
class BenchInputs {
 public:
  BenchInputs(Device device, DType dtype, bool is_large);

  Device device() const noexcept { return device_; }
  DType dtype() const noexcept { return dtype_; }
  Shape matrix() const;  // [side, side]
  Shape lines() const;   // [side, 1024]
  Shape images() const;  // [batch, channels, 56, 56]
  Shape heads() const;   // [batch, heads, length, 64]
  std::int64_t channels() const { return images()[1]; }
  std::int64_t order() const noexcept;  // of matrices that are decomposed

  Array normal(const Shape& shape) const;                        // of mean 0 and deviation 1
  Array indices(const Shape& shape, std::int64_t extent) const;  // i64, below `extent`
  Array positive_definite() const;                               // [order, order]

 private:
  Device device_;
  DType dtype_;
  bool is_gpu_, is_large_;
};

struct BenchFunction {
  std::string name;  // family/function
  std::function<BenchCall(const BenchInputs&)> prepare;
  bool f32_only = false;
  bool has_peer = true;  // whether PyTorch has such a function
};

// A function of one array of the shape that `shape` gives.
BenchFunction unary_function(std::string name, Shape (BenchInputs::*shape)() const,
                             std::function<Array(const Array&)> function);
// Its gradient, with the forward pass.
BenchFunction gradient_function(std::string name, Shape (BenchInputs::*shape)() const,
                                std::function<Array(const Array&)> function);

// The functions, by kind.
std::vector<BenchFunction> array_functions();   // of elements, rows, order and places
std::vector<BenchFunction> layer_functions();   // of layers of networks, and losses
std::vector<BenchFunction> matrix_functions();  // of linear algebra, signals and statistics
std::vector<BenchFunction> quantized_functions();
// All of them.
std::vector<BenchFunction> all_functions();

}  // namespace hearth::tools
