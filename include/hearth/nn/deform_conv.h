// The layer of deformable convolution. As in hearth/nn.h: a value struct with public parameters, in
// f32 unless asked otherwise, that computes in the dtype of its input.
#pragma once

#include <cstdint>
#include <optional>

#include "hearth/nn/conv.h"
#include "hearth/ops/deform_conv.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// deform_conv2d() with parameters: x [batch, in, height, width] to [batch, out, positions...].
// Offsets and mask are given with x: layers of their own make them.
struct HEARTH_API DeformConv2d {
  DeformConv2d() = default;
  // Throws Error{invalid_argument} where sizes are negative or groups do not divide them.
  DeformConv2d(std::int64_t in, std::int64_t out, const Kernel<2>& kernel,
               const DeformConvOptions& options = {}, const ConvParameters& parameters = {});

  Array forward(const Array& x, const Array& offset, const Array& mask = Array()) const;
  Tensor<4> forward(const Tensor<4>& x, const Tensor<4>& offset,
                    const std::optional<Tensor<4>>& mask = std::nullopt,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<4>(forward(x.array(), offset.array(), mask ? mask->array() : Array()));
    });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }

  Tensor<4> weight;  // [out, in / weight_groups, rows, cols]
  Tensor<1> bias;    // [out], or without a value
  DeformConvOptions window;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
