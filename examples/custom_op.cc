// An op of one's own, with a gradient: Huber's loss, element by element.
#include <cmath>
#include <cstdio>
#include <string>

#include "hearth/custom_op.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

using hearth::Array;
using hearth::HostTensor;

namespace {

constexpr float kDelta = 1.0f;

hearth::TensorType infer(std::span<const Array> inputs) {
  if (inputs[0].dtype() != hearth::DType::f32) {
    throw hearth::Error(hearth::ErrorCode::dtype, "example.huber: wrong dtype; got " +
                                                      std::string(hearth::name(inputs[0].dtype())) +
                                                      ", expected f32");
  }
  return {hearth::DType::f32, inputs[0].shape()};
}

void compute(std::span<const HostTensor> inputs, HostTensor output) {
  for (std::int64_t i = 0; i < element_count(output.shape); ++i) {
    const float x = std::fabs(inputs[0].at<float>(i));
    output.at<float>(i) = x <= kDelta ? 0.5f * x * x : kDelta * (x - 0.5f * kDelta);
  }
}

std::vector<Array> vjp(std::span<const Array> inputs, const Array& /*output*/, const Array& grad) {
  return {hearth::mul(grad, hearth::clamp(inputs[0], -kDelta, kDelta))};
}

}  // namespace

int main() {
  const hearth::CustomOp huber({.name = "example.huber",
                                .summary = "Huber's loss of each element.",
                                .infer = infer,
                                .compute = compute,
                                .vjp = vjp});
  const std::vector<float> values = {-3, -0.5f, 0, 0.5f, 3};
  const Array x = Array::from_data(values, {5}).require_grad();
  const Array loss = huber({x});
  const Array gradient = hearth::backward(hearth::sum(loss)).get(x);
  const std::vector<float> expected = {-1, -0.5f, 0, 0.5f, 1};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("x %5.2f  loss %5.3f  gradient %5.2f\n", static_cast<double>(values[i]),
                static_cast<double>(loss.to_vector<float>()[i]),
                static_cast<double>(gradient.to_vector<float>()[i]));
  }
  return gradient.to_vector<float>() == expected ? 0 : 1;
}
