// The order in which products add up.
//
// Of most products every element of C is one chain over k. A product whose B lies by columns, as
// weights [out, in] do for linear(), deals k out to kSumClasses classes instead: word p, a value or
// a pair of bf16, goes to class p modulo kSumClasses. The words of a class are one chain, and the
// classes' sums are added up in their order, in blocks of kClassWords of each class. So a vector
// may hold one word of each class, which lie side by side in a column, or one class of several
// columns; both give the same bits, for one row of A as for many.
#pragma once

#include <cstdint>

#include "devices/cpu/gemm/gemm.h"

namespace hearth::cpu {

inline constexpr std::int64_t kSumClasses = 16;
inline constexpr std::int64_t kClassWords = 128;
inline constexpr std::int64_t kBlockWords = kSumClasses * kClassWords;

// Whether the order of a product of floats is that of classes.
inline bool sums_by_class(const GemmArgs& g) {
  return g.b_row_stride == 1 && (g.b_col_stride != 1 || g.n == 1);
}

// Words of class `which` among `words`.
constexpr std::int64_t words_of_class(std::int64_t words, std::int64_t which) {
  return (words - which + kSumClasses - 1) / kSumClasses;
}

// Rows from a class to the next where `words` are packed by class: odd, so that classes do not all
// lie in one set of a cache.
constexpr std::int64_t class_rows(std::int64_t words) { return words_of_class(words, 0) | 1; }

}  // namespace hearth::cpu
