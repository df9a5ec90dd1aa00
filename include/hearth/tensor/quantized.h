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
  // Bytes of all that is stored.
  std::int64_t bytes() const { return array_.bytes(); }
  Propagation propagation() const noexcept { return array_.propagation(); }
  [[nodiscard]] QuantizedTensor with_propagation(Propagation propagation) const {
    return QuantizedTensor(array_.with_propagation(propagation));
  }
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
  QuantizedTensor repeat(const Extents<Rank>& times, CallSite site = CallSite::here()) const {
    return located(site, [&] { return QuantizedTensor(hearth::repeat(array_, times.shape())); });
  }
  QuantizedTensor repeat_dim(std::int64_t dim, std::int64_t times,
                             CallSite site = CallSite::here()) const {
    return located_as("repeat_dim", site, [&] {
      Dims repeats = Dims::filled(Rank, 1);
      repeats[normalize_axis("repeat_dim", dim, Rank)] = times;
      return QuantizedTensor(hearth::repeat(array_, repeats));
    });
  }

  // Of the elements that it stands for, quantized by its scheme: those of abs() and max_abs() with
  // scales of their own, others as picked() says. `dim` stays, with extent 1 in a maximum.
  using Places = Tensor<Rank, Int>;
  QuantizedTensor abs(CallSite site = CallSite::here()) const {
    return located_as("abs", site, [&] {
      return QuantizedTensor(requantized([](const Array& x) { return hearth::abs(x); }, array_));
    });
  }
  QuantizedTensor<1> max_abs(CallSite site = CallSite::here()) const {
    return located_as("max_abs", site, [&] {
      return QuantizedTensor<1>(
          requantized([](const Array& x) { return one(hearth::max_abs(x)); }, array_));
    });
  }
  QuantizedTensor max_abs_dim(std::int64_t dim, CallSite site = CallSite::here()) const {
    return located_as("max_abs_dim", site, [&] {
      return QuantizedTensor(
          requantized([&](const Array& x) { return hearth::max_abs(x, {dim}, true); }, array_));
    });
  }
  QuantizedTensor<1> max(CallSite site = CallSite::here()) const {
    return located_as("max", site, [&] {
      return QuantizedTensor<1>(picked([](const Array& x) { return one(hearth::max(x)); }, array_));
    });
  }
  QuantizedTensor<1> min(CallSite site = CallSite::here()) const {
    return located_as("min", site, [&] {
      return QuantizedTensor<1>(picked([](const Array& x) { return one(hearth::min(x)); }, array_));
    });
  }
  QuantizedTensor max_dim(std::int64_t dim, CallSite site = CallSite::here()) const {
    return elements("max_dim", site, [&](const Array& x) { return hearth::max(x, {dim}, true); });
  }
  QuantizedTensor min_dim(std::int64_t dim, CallSite site = CallSite::here()) const {
    return elements("min_dim", site, [&](const Array& x) { return hearth::min(x, {dim}, true); });
  }
  std::pair<QuantizedTensor, Places> max_dim_with_indices(std::int64_t dim,
                                                          CallSite site = CallSite::here()) const {
    return with_places("max_dim_with_indices", site,
                       [&](const Array& x) { return hearth::max_with_indices(x, dim, true); });
  }
  std::pair<QuantizedTensor, Places> min_dim_with_indices(std::int64_t dim,
                                                          CallSite site = CallSite::here()) const {
    return with_places("min_dim_with_indices", site,
                       [&](const Array& x) { return hearth::min_with_indices(x, dim, true); });
  }
  QuantizedTensor sort(std::int64_t dim, CallSite site = CallSite::here()) const {
    return elements("sort", site, [&](const Array& x) { return hearth::sort(x, dim); });
  }
  QuantizedTensor sort_descending(std::int64_t dim, CallSite site = CallSite::here()) const {
    return elements("sort_descending", site,
                    [&](const Array& x) { return hearth::sort(x, dim, true); });
  }
  std::pair<QuantizedTensor, Places> sort_with_indices(std::int64_t dim,
                                                       CallSite site = CallSite::here()) const {
    return with_places("sort_with_indices", site,
                       [&](const Array& x) { return hearth::sort_with_indices(x, dim); });
  }
  QuantizedTensor topk(std::int64_t k, std::int64_t dim, CallSite site = CallSite::here()) const {
    return elements("topk", site, [&](const Array& x) { return hearth::topk(x, k, dim); });
  }
  std::pair<QuantizedTensor, Places> topk_with_indices(std::int64_t k, std::int64_t dim,
                                                       CallSite site = CallSite::here()) const {
    return with_places("topk_with_indices", site,
                       [&](const Array& x) { return hearth::topk_with_indices(x, k, dim); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    QuantizedArray::members(self.array_, visitor);
  }

 private:
  static Array one(const Array& number) { return hearth::reshape(number, {1}); }
  template <class F>
  QuantizedTensor elements(const char* op, CallSite site, F&& f) const {
    return located_as(op, site, [&] { return QuantizedTensor(picked(f, array_)); });
  }
  template <class F>
  std::pair<QuantizedTensor, Places> with_places(const char* op, CallSite site, F&& f) const {
    return located_as(op, site, [&] {
      auto [found, places] = picked(f, array_);
      return std::pair(QuantizedTensor(std::move(found)), Places(std::move(places)));
    });
  }

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

// By the scheme of the first, with scales of the result.
template <int R>
QuantizedTensor<R> cat(const std::vector<QuantizedTensor<R>>& tensors, std::int64_t dim,
                       CallSite site = CallSite::here()) {
  return located(site, [&] {
    std::vector<QuantizedArray> arrays;
    for (const QuantizedTensor<R>& x : tensors) arrays.push_back(x.array());
    return QuantizedTensor<R>(hearth::cat(arrays, dim));
  });
}

// ---- Products
// Floats, whatever the tensors' Propagation; flow() (hearth/tensor/quantized_flow.h) goes by it.

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
