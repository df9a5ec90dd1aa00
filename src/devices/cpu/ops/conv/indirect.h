// Convolutions without patches: images become padded planes, of which a product reads the matrix
// of patches where it lies, through two tables of offsets (Dukhan, "The Indirect Convolution
// Algorithm", 2019). Positions of the result are its rows, and what a position meets is at the same
// offsets from each; the weights are packed. The gradient for the input of a convolution of stride
// 1 is one too. Bound by the product.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/ops/conv/indirect_product.h"
#include "devices/cpu/ops/conv/operands.h"
#include "devices/cpu/ops/conv/planes.h"
#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

// By kernels of indirect_product.h: kGroup channels lie side by side in planes.
template <class How>
class IndirectConv {
 public:
  using Product = IndirectProduct<How>;
  using X = typename Product::X;  // of planes
  using P = typename Product::P;  // of packed weights
  using T = typename Product::T;
  static constexpr std::int64_t kGroup = Product::kGroup;

  explicit IndirectConv(const ConvProblem& problem)
      : p_(problem),
        planes_(p_),
        rows_(ceil_div(p_.in, kGroup)),
        depth_(rows_ * p_.taps),
        product_(p_.out) {}

  // Whether planes are not mostly padding, and there is enough to multiply.
  bool fits() const {
    return !p_.is_pointwise() && planes_.are_small() && p_.out >= Product::kLeastColumns &&
           depth_ >= kLeastDepth;
  }

  std::int64_t memory_bytes() const {
    return panel_bytes() + plain_bytes() + at_once() * image_bytes();
  }

  // weight is dense; `flipped` where the problem is a flipped_problem(). `memory` has
  // memory_bytes().
  void run(const Operand& x, const Operand& weight, bool flipped, const std::vector<T>& bias,
           const Operand& out, std::byte* memory) const {
    pack_weights(weight, flipped, reinterpret_cast<X*>(memory + panel_bytes()),
                 reinterpret_cast<P*>(memory));
    const auto* const panels = reinterpret_cast<const P*>(memory);
    auto* const images = reinterpret_cast<X*>(memory + panel_bytes() + plain_bytes());
    const std::vector<std::int64_t> offsets = value_offsets();
    for (std::int64_t done = 0; done < p_.batch * p_.groups; done += at_once()) {
      const std::int64_t some = std::min(at_once(), p_.batch * p_.groups - done);
      for_each_task(some * rows_, 4, [&](std::int64_t i) {
        pack_plane(x, done + i / rows_, i % rows_, images + i / rows_ * image_size());
      });
      // Images of the same weights follow one another in the rows of a product.
      const std::int64_t joined = p_.groups == 1 ? some : 1;
      const std::int64_t places = joined * p_.positions, parts = ceil_div(places, kRows);
      const std::int64_t col_parts = product_.parts(), cols = product_.part();
      for_each_task(some / joined * parts * col_parts, 1, [&](std::int64_t task) {
        const std::int64_t col = task % col_parts * cols;
        const std::int64_t first = task / col_parts % parts * kRows;
        const std::int64_t image = task / col_parts / parts * joined;
        const std::int64_t m = std::min(kRows, places - first), n = product_.columns_from(col);
        if (n <= 0) return;
        std::int64_t* const rows = scratch<std::int64_t>(0, kRows);
        for (std::int64_t i = 0; i < m; ++i) {
          rows[i] = (image + (first + i) / p_.positions) * image_size() +
                    planes_.place_of((first + i) % p_.positions) * kGroup;
        }
        T* const sums = scratch<T>(1, kRows * cols);
        const std::int64_t g = (done + image) % p_.groups;
        const P* const panel = panels + (g * product_.width() + col) * depth_;
        Product::multiply(images, rows, offsets, m, panel, n, depth_, false, sums, cols);
        store(sums, done + image, first, m, col, n, bias, out);
      });
    }
  }

 private:
  static constexpr std::int64_t kLeastDepth = 16;
  static constexpr std::int64_t kRows = 96;  // of a task

  std::int64_t panel_bytes() const {
    return Product::template bytes_of<P>(p_.groups * product_.width() * depth_);
  }
  std::int64_t plain_bytes() const {
    return Product::template bytes_of<P>(p_.groups * p_.out * depth_);
  }
  std::int64_t image_size() const { return rows_ * planes_.size() * kGroup; }
  std::int64_t image_bytes() const { return image_size() * static_cast<std::int64_t>(sizeof(X)); }
  std::int64_t at_once() const {
    return Product::images_at_once(image_bytes(), p_.batch * p_.groups);
  }

  std::vector<std::int64_t> value_offsets() const {
    std::vector<std::int64_t> offsets;
    offsets.reserve(static_cast<std::size_t>(depth_));
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t tap = 0; tap < p_.taps; ++tap) {
        offsets.push_back((row * planes_.size() + planes_.offset_of(tap)) * kGroup);
      }
    }
    return offsets;
  }

  // Weights in panels: value (row, tap) of k is element `tap` of the kernel for the channels of a
  // row of planes. `plain` holds a copy of them.
  void pack_weights(const Operand& weight, bool flipped, X* plain, P* panels) const {
    const std::int64_t inner = p_.in * p_.taps, kernels = p_.groups * p_.out;
    const X* from = reinterpret_cast<const X*>(weight.data);
    std::int64_t from_inner = inner;
    if (weight.dtype() != dtype_of_v<X>) {
      if constexpr (kGroup == 1) {
        for_each_task(kernels, 8, [&](std::int64_t i) {
          load_row(weight.dtype(), weight.at(i * inner), 1, inner, plain + i * inner);
        });
        from = plain;
      }
    } else if (kGroup == 2 && !flipped) {
      for_each_task(kernels, 8, [&](std::int64_t i) {
        pair_channels(from + i * inner, reinterpret_cast<std::uint32_t*>(plain) + i * depth_);
      });
      from = plain;
      from_inner = depth_ * kGroup;
    }
    // Values of k that a task packs: those of a few channels.
    const std::int64_t step = flipped ? p_.taps : 128, parts = ceil_div(depth_, step);
    const std::int64_t col_parts = product_.parts();
    for_each_task(p_.groups * col_parts * parts, 4, [&](std::int64_t task) {
      const std::int64_t k = task % parts * step, col = task / parts % col_parts * product_.part();
      const std::int64_t g = task / parts / col_parts, n = product_.columns_from(col);
      if (n <= 0) return;
      P* const to = panels + (g * product_.width() + col) * depth_;
      const auto pack = How::copies().pack;
      if (!flipped) {
        const std::int64_t some = std::min(step * kGroup, from_inner - k * kGroup);
        pack(from + (g * p_.out + col) * from_inner + k * kGroup, 1, from_inner, some, n, depth_, 0,
             k, 0, to);
        return;
      }
      const std::int64_t c = k / p_.taps * kGroup;
      for (std::int64_t tap = 0; tap < p_.taps; ++tap) {
        pack(from + ((g * p_.in + c) * p_.out + col + 1) * p_.taps - 1 - tap, p_.out * p_.taps,
             p_.taps, std::min(kGroup, p_.in - c), n, depth_, 0, k + tap, 0, to);
      }
    });
  }
  // The weights of a channel of the result, two channels side by side.
  void pair_channels(const X* from, std::uint32_t* to) const {
    if constexpr (kGroup == 2) {
      for (std::int64_t row = 0; row < rows_; ++row, from += 2 * p_.taps, to += p_.taps) {
        weave_channels(from, 2 * row + 1 < p_.in ? from + p_.taps : nullptr, 1, p_.taps, to);
      }
    }
  }

  // Plane `row` of image `i`, one of each group.
  void pack_plane(const Operand& x, std::int64_t i, std::int64_t row, X* image) const {
    const ConvStrides strides(*x.spec);
    const std::int64_t channel = i % p_.groups * p_.in + row * kGroup;
    const std::int64_t begin = i / p_.groups * strides.batch + channel * strides.channel;
    X* const plane = image + row * planes_.size() * kGroup;
    if constexpr (kGroup == 2) {
      const auto* const low = reinterpret_cast<const X*>(x.at(begin));
      const X* const high = row * kGroup + 1 < p_.in ? low + strides.channel : nullptr;
      const auto weave = [&](std::int64_t at, std::int64_t step, std::int64_t count, P* to) {
        weave_channels(low + at, high == nullptr ? nullptr : high + at, step, count, to);
      };
      planes_.pack(strides, weave, reinterpret_cast<P*>(plane));
    } else {
      planes_.pack(
          strides,
          [&](std::int64_t at, std::int64_t step, std::int64_t count, X* to) {
            load_row(x.dtype(), x.at(begin + at), step, count, to);
          },
          plane);
    }
  }

  // Positions [first, first + m) of images from `image` on, channels [col, col + n) of each.
  void store(const T* sums, std::int64_t image, std::int64_t first, std::int64_t m,
             std::int64_t col, std::int64_t n, const std::vector<T>& bias,
             const Operand& out) const {
    const bool in_place = bias.empty() && out.dtype() == dtype_of_v<T>;
    T* const transposed = in_place ? nullptr : scratch<T>(2, n * kRows);
    for (std::int64_t done = 0; done < m;) {
      const std::int64_t i = image + (first + done) / p_.positions;
      const std::int64_t at = (first + done) % p_.positions;
      const std::int64_t count = std::min(m - done, p_.positions - at);
      const std::int64_t channel = i % p_.groups * p_.out + col;
      const std::int64_t to = ((i - i % p_.groups) * p_.out + channel) * p_.positions + at;
      T* const lines = in_place ? reinterpret_cast<T*>(out.at(to)) : transposed;
      const std::int64_t stride = in_place ? p_.positions : kRows;
      How::transpose(sums + done * product_.part(), 1, product_.part(), n, count, lines, stride);
      for (std::int64_t c = 0; c < n && !in_place; ++c) {
        T* const line = transposed + c * kRows;
        if (!bias.empty()) {
          const T add = bias[static_cast<std::size_t>(channel + c)];
          for (std::int64_t j = 0; j < count; ++j) line[j] += add;
        }
        store_row(out.dtype(), line, count, out.at(to + c * p_.positions));
      }
      done += count;
    }
  }

  const ConvProblem p_;
  const PaddedPlanes planes_;
  std::int64_t rows_, depth_;  // planes of an image, and what a position meets in them
  Product product_;            // its columns are channels of the result
};

// The convolution that makes the result of conv, or of the gradient for its input.
inline ConvProblem indirect_problem(const Signature& s) {
  const ConvProblem p = problem_of(s);
  return s.op == &defs::conv_op ? p : flipped_problem(p);
}

// Calls run(conv) with the IndirectConv of a signature.
template <class Run>
auto with_indirect(const Signature& s, const Run& run) {
  return with_indirect_kernels(
      s.output.dtype, [&]<class How>() { return run(IndirectConv<How>(indirect_problem(s))); });
}

inline bool fits_indirect(const Signature& s) {
  using Ones = ConvProblem::Extents;
  if (s.output.dtype == DType::bf16 && amx_gemm() != nullptr) return false;
  if (s.op != &defs::conv_op && problem_of(s).stride != Ones{1, 1, 1}) return false;
  return with_indirect(s, [](const auto& conv) { return conv.fits(); });
}

inline Prepared prepare_indirect(const Signature& s) {
  return prepare_conv(s, with_indirect(s, [](const auto& conv) { return conv.memory_bytes(); }));
}

inline void launch_indirect(const Launch& launch) {
  const Signature& s = *launch.signature;
  if (element_count(s.output.shape) == 0) return;
  const ConvOperands operands(launch);
  with_indirect(s, [&]<class How>(const IndirectConv<How>& conv) {
    conv.run(operands.a, operands.b, s.op != &defs::conv_op,
             bias_of<typename IndirectConv<How>::T>(launch), output_of(launch), operands.memory);
  });
}

}  // namespace hearth::cpu
