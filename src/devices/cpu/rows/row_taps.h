// Weighted elements of a row, added up.
#pragma once

#include <cstdint>
#include <type_traits>

namespace hearth::cpu {

template <class T>
using TapIndex = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

template <class T>
struct RowTaps {
  // sums[i] += weights[i] * x[indices[i]] for i < n; index -1 adds nothing. x[0] exists.
  void (*add)(T* sums, const T* x, const TapIndex<T>* indices, const T* weights, std::int64_t n);
};

template <class T>
const RowTaps<T>& row_taps();

}  // namespace hearth::cpu
