// What parameters are made of: where they are, and how their first values are drawn.
#pragma once

#include <cstdint>

#include "hearth/array.h"
#include "hearth/random.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// Where and how parameters are made; `generator` null: the thread's.
struct ParameterOptions {
  DType dtype = DType::f32;
  Device device = Device();
  Generator* generator = nullptr;
};

// How a parameter's first value is drawn. fan_in and fan_out are the numbers of inputs and outputs
// of one unit (He et al. 2015; Glorot and Bengio 2010).
class HEARTH_API Initializer {
 public:
  static Initializer constant(double value);
  static Initializer zeros() { return constant(0); }
  static Initializer ones() { return constant(1); }
  static Initializer uniform(double low, double high);
  static Initializer normal(double mean = 0, double deviation = 1);
  // Uniform in +-gain * sqrt(3 / fan_in); normal with deviation gain / sqrt(fan_in).
  static Initializer kaiming_uniform(double gain = 0.57735026918962576);
  static Initializer kaiming_normal(double gain = 1.4142135623730951);
  // Uniform in +-gain * sqrt(6 / (fan_in + fan_out)); normal with deviation
  // gain * sqrt(2 / (fan_in + fan_out)).
  static Initializer xavier_uniform(double gain = 1);
  static Initializer xavier_normal(double gain = 1);
  // gain times a matrix with orthonormal rows, or columns where it has more rows than columns; of
  // more axes, all but the first are the columns (Saxe et al. 2014). Below rank 2, as biases are:
  // zeros. Computed on the host: make() throws Error{invalid_argument} beyond 2^31 products.
  static Initializer orthogonal(double gain = 1);

  // A parameter: require_grad() is set.
  Array make(const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
             const ParameterOptions& options = {}) const;

 private:
  enum class Rule : std::uint8_t {
    constant,
    uniform,
    normal,
    kaiming_uniform,
    kaiming_normal,
    xavier_uniform,
    xavier_normal,
    orthogonal
  };
  Initializer(Rule rule, double a, double b) : rule_(rule), a_(a), b_(b) {}

  Rule rule_;
  double a_;
  double b_;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
