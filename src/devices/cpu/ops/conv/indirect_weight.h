// The gradient for the weight of a convolution without patches: channels and elements of the kernel
// are rows of a product, which reads padded planes where each of them begins; positions of all
// images are its depth, and the gradient of the result is packed. Sums are in an order that follows
// from the problem alone. Bound by the product.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/ops/conv/indirect.h"
#include "devices/cpu/ops/conv/planes.h"
#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

// How is one of those of IndirectConv; kGroup positions lie side by side in planes.
template <class How>
class IndirectWeight {
 public:
  using Kernels = std::remove_cvref_t<decltype(How::kernels())>;
  using X = typename Kernels::X;
  using P = typename Kernels::P;
  using T = typename Kernels::T;
  static constexpr std::int64_t kGroup = sizeof(P) / sizeof(X);

  explicit IndirectWeight(const ConvProblem& problem)
      : p_(problem),
        planes_(p_, kGroup > 1 ? Phases::columns : Phases::none),
        rows_(p_.in * p_.taps),
        depth_(p_.positions / kGroup),
        col_parts_(std::max<std::int64_t>(ceil_div(p_.out, kCols), 1)) {
    const std::int64_t unit = How::kernels().lanes * How::kernels().vectors;
    cols_ = ceil_div(ceil_div(p_.out, col_parts_), unit) * unit;
  }

  // Whether planes are not mostly padding, and there is enough to multiply. Several groups would
  // wait for one another.
  bool fits() const {
    return p_.result_of[2] % kGroup == 0 && p_.groups == 1 && p_.batch > 0 && planes_.are_small() &&
           p_.out >= kLeastCols && rows_ >= kLeastRows;
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
    for (std::int64_t done = 0; done < p_.batch; done += at_once()) {
      const std::int64_t some = std::min(at_once(), p_.batch - done);
      for_each_task(some * p_.in, 4, [&](std::int64_t i) {
        pack_plane(x, done + i / p_.in, i % p_.in, images + i / p_.in * image_size());
      });
      for_each_task(some * col_parts_, 1, [&](std::int64_t i) {
        const std::int64_t col = i % col_parts_ * cols_, image = i / col_parts_;
        const std::int64_t n = std::min(cols_, p_.out - col);
        if (n <= 0) return;
        How::copies().pack(
            reinterpret_cast<const X*>(grad.at(((done + image) * p_.out + col) * p_.positions)), 1,
            p_.positions, p_.positions, n, some * depth_, 0, image * depth_,
            panels + col * some * depth_);
      });
      const std::int64_t parts = ceil_div(rows_, kRows);
      for_each_task(parts * col_parts_, 1, [&](std::int64_t task) {
        const std::int64_t first = task % parts * kRows, col = task / parts * cols_;
        const std::int64_t m = std::min(kRows, rows_ - first), n = std::min(cols_, p_.out - col);
        if (n <= 0) return;
        multiply(images, rows.data() + first, places, m, panels + col * some * depth_, n,
                 some * depth_, done > 0, sums + first * width() + col);
      });
    }
    for_each_task(ceil_div(p_.out, kTransposed), 1, [&](std::int64_t i) {
      const std::int64_t first = i * kTransposed, n = std::min(kTransposed, p_.out - first);
      T* const transposed = scratch<T>(1, kTransposed * rows_);
      How::transpose(sums + first, 1, width(), n, rows_, transposed, rows_);
      store_row(out.dtype(), transposed, n * rows_, out.at(first * rows_));
    });
  }

 private:
  static constexpr std::int64_t kLeastCols = 8, kLeastRows = 8;
  static constexpr std::int64_t kRows = 48, kCols = 256;  // of a task
  static constexpr std::int64_t kTransposed = 16;         // channels of the result
  // Of planes and panels worked on at a time, of which a last-level cache holds some.
  static constexpr std::int64_t kImageBytes = std::int64_t{8} << 20;

  static std::int64_t lines(std::int64_t bytes) { return ceil_div(bytes, 64) * 64; }
  std::int64_t width() const { return col_parts_ * cols_; }
  std::int64_t sum_bytes() const {
    return lines(rows_ * width() * static_cast<std::int64_t>(sizeof(T)));
  }
  std::int64_t image_size() const { return lines(p_.in * planes_.size()); }
  std::int64_t image_bytes() const { return image_size() * static_cast<std::int64_t>(sizeof(X)); }
  std::int64_t panel_bytes() const {
    return lines(depth_ * width() * static_cast<std::int64_t>(sizeof(P)));
  }
  // Part of the rounding.
  std::int64_t at_once() const {
    return std::clamp<std::int64_t>(kImageBytes / (image_bytes() + panel_bytes()), 1, p_.batch);
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

  // sums [m, n] of rows of `images` and columns of `panels`, or added to what they hold.
  void multiply(const X* images, const std::int64_t* rows, const std::vector<std::int64_t>& places,
                std::int64_t m, const P* panels, std::int64_t n, std::int64_t depth,
                bool accumulate, T* sums) const {
    const std::int64_t part =
        How::kernels().blocking.depth_bytes / static_cast<std::int64_t>(sizeof(P));
    GemmBlock<X, P, T> block{};
    block.m = m;
    block.n = n;
    block.a = images;
    block.a_rows = rows;
    block.b = panels;
    block.b_packed = true;
    block.b_panel_stride = depth;
    block.c = sums;
    block.c_row_stride = width();
    for (std::int64_t first = 0; first < depth; first += part) {
      block.k = std::min(part, depth - first) * kGroup;
      block.a_offsets = places.data() + first;
      block.b_first = first;
      block.accumulate = accumulate || first > 0;
      How::kernels().block(block);
    }
  }

  const ConvProblem p_;
  const PaddedPlanes planes_;
  std::int64_t rows_, depth_;      // of the product; the depth of an image
  std::int64_t col_parts_, cols_;  // of channels of the result
};

}  // namespace hearth::cpu
