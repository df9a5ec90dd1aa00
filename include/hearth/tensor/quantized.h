// QuantizedTensor<Rank>: a QuantizedArray whose rank the compiler checks, and the way from tensors
// and back. `site` is the caller's line.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/quantization.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

template <int Rank>
class [[nodiscard]] QuantizedTensor {
  static_assert(Rank >= 1 && Rank <= kMaxRank, "a tensor has 1 to 8 dimensions");

 public:
  QuantizedTensor() = default;
  // Throws Error{shape} for another rank.
  explicit QuantizedTensor(QuantizedArray array, CallSite site = CallSite::here())
      : array_(std::move(array)) {
    located(site, [&] {
      if (array_.defined() && array_.rank() != Rank) {
        throw Error(ErrorCode::shape, "QuantizedTensor: wrong rank; got " +
                                          to_string(array_.shape()) + ", expected rank " +
                                          std::to_string(Rank));
      }
    });
  }

  const QuantizedArray& array() const noexcept { return array_; }
  bool defined() const noexcept { return array_.defined(); }
  const QuantScheme& scheme() const noexcept { return array_.scheme(); }
  const Shape& shape() const noexcept { return array_.shape(); }
  DType dtype() const noexcept { return array_.dtype(); }
  Device device() const { return array_.device(); }
  QuantizedTensor to_device(Device device, CallSite site = CallSite::here()) const {
    return located(site, [&] { return QuantizedTensor(hearth::to_device(array_, device)); });
  }
  Tensor<Rank> dequantize(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Rank>(hearth::dequantize(array_)); });
  }
  Tensor<Rank> dequantize(DType dtype, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Rank>(hearth::dequantize(array_, dtype)); });
  }

  template <std::integral I, std::size_t R>
  QuantizedTensor<static_cast<int>(R)> reshape(const I (&extents)[R],
                                               CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return QuantizedTensor<static_cast<int>(R)>(
          hearth::reshape(array_, tensor_detail::shape_of(extents)));
    });
  }
  template <std::integral I, std::size_t R>
    requires(R >= Rank)
  QuantizedTensor<static_cast<int>(R)> expand(const I (&extents)[R],
                                              CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return QuantizedTensor<static_cast<int>(R)>(
          hearth::expand(array_, tensor_detail::shape_of(extents)));
    });
  }
  QuantizedTensor permute(const Extents<Rank>& axes, CallSite site = CallSite::here()) const {
    return located(site, [&] { return QuantizedTensor(hearth::permute(array_, axes.shape())); });
  }
  QuantizedTensor swap_dims(std::int64_t a, std::int64_t b,
                            CallSite site = CallSite::here()) const {
    return located(site, [&] { return QuantizedTensor(hearth::swap_axes(array_, a, b)); });
  }
  QuantizedTensor transpose(CallSite site = CallSite::here()) const {
    return located(site, [&] { return QuantizedTensor(hearth::transpose(array_)); });
  }
  QuantizedTensor flip(const Dims& axes, CallSite site = CallSite::here()) const {
    return located(site, [&] { return QuantizedTensor(hearth::flip(array_, axes)); });
  }
  QuantizedTensor slice(const std::vector<Slice>& slices, CallSite site = CallSite::here()) const {
    return located(site, [&] { return QuantizedTensor(hearth::slice(array_, slices)); });
  }
  QuantizedTensor select(std::int64_t dim, const Tensor<1, Int>& indices,
                         CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return QuantizedTensor(hearth::select(array_, indices.array(), dim)); });
  }
  QuantizedTensor gather(std::int64_t dim, const Tensor<Rank, Int>& indices,
                         CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return QuantizedTensor(hearth::gather(array_, indices.array(), dim)); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    QuantizedArray::members(self.array_, visitor);
  }

 private:
  QuantizedArray array_;
};

template <int R>
std::ostream& operator<<(std::ostream& out, const QuantizedTensor<R>& x) {
  return out << x.array();
}

// ---- Quantization

template <int R>
QuantizedTensor<R> quantize(const Tensor<R>& x, const QuantScheme& scheme,
                            const QuantParams& params, CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return QuantizedTensor<R>(hearth::quantize(x.array(), scheme, params)); });
}
template <int R>
QuantizedTensor<R> quantize_dynamic(const Tensor<R>& x, const QuantScheme& scheme = {},
                                    Calibration calibration = Calibration::min_max,
                                    CallSite site = CallSite::here()) {
  return located(site, [&] {
    return QuantizedTensor<R>(hearth::quantize_dynamic(x.array(), scheme, calibration));
  });
}
template <int R>
Tensor<R> dequantize(const QuantizedTensor<R>& x, CallSite site = CallSite::here()) {
  return x.dequantize(site);
}
template <int R>
Tensor<R> fake_quantize(const Tensor<R>& x, const QuantScheme& scheme = {},
                        Calibration calibration = Calibration::min_max,
                        CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<R>(hearth::fake_quantize(x.array(), scheme, calibration)); });
}

// ---- Products
// Of floats; matmul() of QuantizedArray propagates.

template <int R>
Tensor<R> matmul(const Tensor<R>& a, const QuantizedTensor<R>& b,
                 CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::matmul(a.array(), hearth::dequantize(b.array(), a.dtype())));
  });
}
template <int R>
Tensor<R> matmul(const QuantizedTensor<R>& a, const Tensor<R>& b,
                 CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::matmul(hearth::dequantize(a.array(), b.dtype()), b.array()));
  });
}
template <int R>
Tensor<R> matmul(const QuantizedTensor<R>& a, const QuantizedTensor<R>& b,
                 CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(
        hearth::matmul(hearth::dequantize(a.array()), hearth::dequantize(b.array(), a.dtype())));
  });
}

}  // namespace v0
}  // namespace hearth
