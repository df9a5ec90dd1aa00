// An op of one's own that has a function for the CPU and a kernel for every GPU, on the default
// device: x for positive elements, a x for others, with its gradient.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "hearth/custom_op.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

using hearth::Array;
using hearth::CustomOp;
using hearth::HostTensor;

namespace {

const CustomOp& leaky() {
  static const CustomOp op({
      .name = "example.leaky",
      .min_inputs = 2,
      .max_inputs = 2,
      .infer =
          [](std::span<const Array> in) {
            // What compute() reads. The kernel would take any dtype.
            if (in[0].dtype() != hearth::DType::f32) {
              throw hearth::Error(hearth::ErrorCode::dtype,
                                  "example.leaky: wrong input; got " +
                                      std::string(hearth::name(in[0].dtype())) + ", expected f32");
            }
            return hearth::TensorType{in[0].dtype(), in[0].shape()};
          },
      .compute =
          [](std::span<const HostTensor> in, HostTensor out) {
            const float a = in[1].at<float>(0);
            for (std::int64_t i = 0; i < element_count(out.shape); ++i) {
              const float x = in[0].at<float>(i);
              out.at<float>(i) = x > 0 ? x : a * x;
            }
          },
      .kernel = R"(
#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void leaky(device const T* x [[buffer(0)]],
                  constant T& a [[buffer(1)]],
                  device T* y [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  y[i] = x[i] > T(0) ? x[i] : a * x[i];
}
)",
      .vjp =
          [](std::span<const Array> in, const Array& /*output*/, const Array& grad) {
            const Array slope = hearth::where(hearth::greater(in[0], 0.0), 1.0, in[1]);
            return std::vector<Array>{hearth::mul(grad, slope), Array()};
          },
  });
  return op;
}

}  // namespace

int main() {
  const std::vector<float> values = {-3, -0.5f, 0.25f, 2};
  const Array x = Array::from_data(values, {4}).require_grad();
  const Array y = leaky()(x, 0.125);
  const Array gradient = hearth::backward(hearth::sum(y)).get(x);
  std::printf("on %s\n", x.device().name().c_str());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("x %6.3f  y %6.3f  gradient %6.3f\n", static_cast<double>(values[i]),
                static_cast<double>(y.to_vector<float>()[i]),
                static_cast<double>(gradient.to_vector<float>()[i]));
  }
  const bool right = y.to_vector<float>() == std::vector<float>{-0.375f, -0.0625f, 0.25f, 2} &&
                     gradient.to_vector<float>() == std::vector<float>{0.125f, 0.125f, 1, 1};
  return right ? 0 : 1;
}
