// The gradient for the weight of a convolution without patches: channels and elements of the kernel
// are rows of a product, which reads padded planes where each of them begins; positions of all
// images are its depth, and the gradient of the result is packed. Sums are in an order that follows
// from the problem alone. Bound by the product.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/ops/conv/indirect_product.h"
#include "devices/cpu/ops/conv/operands.h"
#include "devices/cpu/ops/conv/planes.h"
#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

// By kernels of indirect_product.h: kGroup positions lie side by side in planes.
template <class How>
class IndirectWeight {
 public:
  using Product = IndirectProduct<How>;
  using X = typename Product::X;
  using P = typename Product::P;
  using T = typename Product::T;
  static constexpr std::int64_t kGroup = Product::kGroup;

  explicit IndirectWeight(const ConvProblem& problem)
      : p_(problem),
        planes_(p_, kGroup > 1 ? Phases::columns : Phases::none),
        rows_(p_.in * p_.taps),
        depth_(p_.positions / kGroup),
        product_(p_.out) {}

  // Whether planes are not mostly padding, and there is enough to multiply. Several groups would
  // wait for one another.
  bool fits() const {
    return p_.result_of[2] % kGroup == 0 && p_.groups == 1 && p_.batch > 0 && planes_.are_small() &&
           p_.out >= Product::kLeastColumns && rows_ >= kLeastRows;
  }

  std::int64_t memory_bytes() const {
    return sum_bytes() + at_once() * (image_bytes() + panel_bytes());
  }

  // grad is dense; both are of X. `memory` has memory_bytes().
  void run(const Operand& x, const Operand& grad, const Operand& out, std::byte* memory) const {
    auto* const sums = reinterpret_cast<T*>(memory);
    auto* const images = reinterpret_cast<X*>(memory + sum_bytes());
    auto* const panels = reinterpret_cast<P*>(memory + sum_bytes() + at_once() * image_bytes());
    const std::vector<std::int64_t> rows = row_offsets(), places = place_offsets();
    const std::int64_t col_parts = product_.parts(), cols = product_.part();
    for (std::int64_t done = 0; done < p_.batch; done += at_once()) {
      const std::int64_t some = std::min(at_once(), p_.batch - done);
      for_each_task(some * p_.in, 4, [&](std::int64_t i) {
        pack_plane(x, done + i / p_.in, i % p_.in, images + i / p_.in * image_size());
      });
      for_each_task(some * col_parts, 1, [&](std::int64_t i) {
        const std::int64_t col = i % col_parts * cols, image = i / col_parts;
        const std::int64_t n = product_.columns_from(col);
        if (n <= 0) return;
        How::copies().pack(
            reinterpret_cast<const X*>(grad.at(((done + image) * p_.out + col) * p_.positions)), 1,
            p_.positions, p_.positions, n, some * depth_, 0, image * depth_, 0,
            panels + col * some * depth_);
      });
      const std::int64_t parts = ceil_div(rows_, kRows);
      for_each_task(parts * col_parts, 1, [&](std::int64_t task) {
        const std::int64_t first = task % parts * kRows, col = task / parts * cols;
        const std::int64_t m = std::min(kRows, rows_ - first), n = product_.columns_from(col);
        if (n <= 0) return;
        Product::multiply(images, rows.data() + first, places, m, panels + col * some * depth_, n,
                          some * depth_, done > 0, sums + first * product_.width() + col,
                          product_.width());
      });
    }
    for_each_task(ceil_div(p_.out, kTransposed), 1, [&](std::int64_t i) {
      const std::int64_t first = i * kTransposed, n = std::min(kTransposed, p_.out - first);
      T* const transposed = scratch<T>(1, kTransposed * rows_);
      How::transpose(sums + first, 1, product_.width(), n, rows_, transposed, rows_);
      store_row(out.dtype(), transposed, n * rows_, out.at(first * rows_));
    });
  }

 private:
  static constexpr std::int64_t kLeastRows = 8;
  static constexpr std::int64_t kRows = 48;        // of a task
  static constexpr std::int64_t kTransposed = 16;  // channels of the result

  std::int64_t sum_bytes() const { return Product::template bytes_of<T>(rows_ * product_.width()); }
  std::int64_t image_size() const { return round_up(p_.in * planes_.size(), 64); }
  std::int64_t image_bytes() const { return image_size() * static_cast<std::int64_t>(sizeof(X)); }
  std::int64_t panel_bytes() const {
    return Product::template bytes_of<P>(depth_ * product_.width());
  }
  // Part of the rounding.
  std::int64_t at_once() const {
    return Product::images_at_once(image_bytes() + panel_bytes(), p_.batch);
  }

  std::vector<std::int64_t> row_offsets() const {
    std::vector<std::int64_t> offsets;
    offsets.reserve(static_cast<std::size_t>(rows_));
    for (std::int64_t c = 0; c < p_.in; ++c) {
      for (std::int64_t tap = 0; tap < p_.taps; ++tap) {
        offsets.push_back(c * planes_.size() + planes_.offset_of(tap));
      }
    }
    return offsets;
  }
  std::vector<std::int64_t> place_offsets() const {
    std::vector<std::int64_t> offsets;
    offsets.reserve(static_cast<std::size_t>(at_once() * depth_));
    for (std::int64_t image = 0; image < at_once(); ++image) {
      for (std::int64_t i = 0; i < depth_; ++i) {
        offsets.push_back(image * image_size() + planes_.place_of(i * kGroup));
      }
    }
    return offsets;
  }

  void pack_plane(const Operand& x, std::int64_t image, std::int64_t channel, X* to) const {
    const ConvStrides strides(*x.spec);
    const auto* const from =
        reinterpret_cast<const X*>(x.at(image * strides.batch + channel * strides.channel));
    planes_.pack(
        strides,
        [&](std::int64_t at, std::int64_t step, std::int64_t count, X* row) {
          if (step == 1) {
            std::copy_n(from + at, count, row);
          } else {
            for (std::int64_t j = 0; j < count; ++j) row[j] = from[at + j * step];
          }
        },
        to + channel * planes_.size());
  }

  const ConvProblem p_;
  const PaddedPlanes planes_;
  std::int64_t rows_, depth_;  // of the product; the depth of an image
  Product product_;            // its columns are channels of the result
};

// Calls run(gradient) with the IndirectWeight of a signature.
template <class Run>
auto with_indirect_weight(const Signature& s, const Run& run) {
  return with_indirect_kernels(
      s.output.dtype, [&]<class How>() { return run(IndirectWeight<How>(problem_of(s))); });
}

inline bool fits_indirect_weight(const Signature& s) {
  if (s.output.dtype == DType::bf16 && amx_gemm() != nullptr) return false;
  return with_indirect_weight(s, [&]<class How>(const IndirectWeight<How>& gradient) {
    return dtype_of_v<typename IndirectWeight<How>::X> == s.output.dtype && gradient.fits();
  });
}

inline Prepared prepare_indirect_weight(const Signature& s) {
  return prepare_conv(
      s, with_indirect_weight(s, [](const auto& gradient) { return gradient.memory_bytes(); }));
}

inline void launch_indirect_weight(const Launch& launch) {
  if (element_count(launch.signature->output.shape) == 0) return;
  const ConvOperands operands(launch);
  with_indirect_weight(*launch.signature, [&](const auto& gradient) {
    gradient.run(operands.a, operands.b, output_of(launch), operands.memory);
  });
}

}  // namespace hearth::cpu
