// One row of a recurrence with a state, once for every SIMD target. All operands are dense; what
// becomes of a state depends on its extents and on the SIMD width only.
#pragma once

#include <cstdint>

namespace hearth::cpu {

template <class T>
struct RowRecurrence {
  // state = decay state; state += k (beta (v - state^T k))^T; y = state^T q; of state [dk, dv].
  void (*delta)(T* state, std::int64_t dk, std::int64_t dv, T decay, const T* q, const T* k,
                const T* v, T beta, T* y);
  // state = decay state + scale x b^T; y = state c; of state [p, n].
  void (*scan)(T* state, std::int64_t p, std::int64_t n, T decay, T scale, const T* x, const T* b,
               const T* c, T* y);
};

template <class T>
const RowRecurrence<T>& row_recurrence();
template <>
const RowRecurrence<float>& row_recurrence<float>();
template <>
const RowRecurrence<double>& row_recurrence<double>();

}  // namespace hearth::cpu
