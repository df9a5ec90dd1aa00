// The loops of Fourier transforms, once for every SIMD target. Real and imaginary parts lie apart.
#pragma once

#include <cstdint>

namespace hearth::cpu {

template <class T>
struct ComplexRow {
  T *re, *im;
};

// One of Stockham's stages: for each of `parts` places and each of `stride` elements there, factor
// elements, parts * stride apart, are transformed and multiplied with their twiddles.
template <class T>
struct FourierStage {
  ComplexRow<const T> from;
  ComplexRow<T> to;
  std::int64_t parts, stride;
  const T* twiddles;  // [parts][factor - 1][re and im]
  const T* roots;     // e^(-2 pi i k / factor), [factor][re and im], of factors above 5
};

template <class T>
struct RowFourier {
  // Of a factor of 2 to 5, 7, 11 or 13.
  void (*stage)(int factor, const FourierStage<T>& stage);
  // Transforms of 4 count elements from those of every fourth, [count][4]; twiddles [3][count].
  void (*join_quarters)(ComplexRow<const T> from, std::int64_t count, ComplexRow<const T> twiddles,
                        ComplexRow<T> to);
  // Elementwise products, in place.
  void (*multiply)(ComplexRow<T> x, ComplexRow<const T> by, std::int64_t count);
  // Even elements of 2 count are real parts, odd ones imaginary parts; and back.
  void (*split)(const T* x, std::int64_t count, ComplexRow<T> to);
  void (*interleave)(ComplexRow<const T> from, std::int64_t count, T* to);
  // The bins 0 to half of real lines of 2 half elements, from the transform of their split; and
  // back, times 2 half. The roots are e^(-pi i k / half), of k up to half.
  void (*bins)(ComplexRow<const T> from, std::int64_t half, ComplexRow<const T> roots,
               ComplexRow<T> to);
  void (*from_bins)(ComplexRow<const T> from, std::int64_t half, ComplexRow<const T> roots,
                    ComplexRow<T> to);
};

template <class T>
const RowFourier<T>& row_fourier();

}  // namespace hearth::cpu
