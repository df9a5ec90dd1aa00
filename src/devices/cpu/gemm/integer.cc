#include "devices/cpu/gemm/integer.h"

#include <algorithm>
#include <type_traits>

namespace hearth::cpu {
namespace {

template <class T>
void rows(const GemmArgs& args, std::int64_t begin, std::int64_t end) {
  // Unsigned and at least 32 bits wide, so that nothing overflows and nothing is promoted to int.
  using U = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
  constexpr std::int64_t kColumns = 256;
  U sum[kColumns];
  const auto* a = static_cast<const T*>(args.a);
  const auto* b = static_cast<const T*>(args.b);
  auto* c = static_cast<T*>(args.c);
  for (std::int64_t i = begin; i < end; ++i) {
    for (std::int64_t j0 = 0; j0 < args.n; j0 += kColumns) {
      const std::int64_t columns = std::min(kColumns, args.n - j0);
      T* out = c + i * args.c_row_stride + j0;
      for (std::int64_t j = 0; j < columns; ++j)
        sum[j] = args.accumulate ? static_cast<U>(out[j]) : U{0};
      for (std::int64_t p = 0; p < args.k; ++p) {
        const U x = static_cast<U>(a[i * args.a_row_stride + p * args.a_col_stride]);
        const T* row = b + p * args.b_row_stride + j0 * args.b_col_stride;
        if (args.b_col_stride == 1) {
          for (std::int64_t j = 0; j < columns; ++j) sum[j] += x * static_cast<U>(row[j]);
        } else {
          for (std::int64_t j = 0; j < columns; ++j) {
            sum[j] += x * static_cast<U>(row[j * args.b_col_stride]);
          }
        }
      }
      for (std::int64_t j = 0; j < columns; ++j) out[j] = static_cast<T>(sum[j]);
    }
  }
}

}  // namespace

void gemm_integer_rows(const GemmArgs& args, std::int64_t begin, std::int64_t end) {
  switch (args.dtype) {
    case DType::i64:
      return rows<std::int64_t>(args, begin, end);
    case DType::i32:
      return rows<std::int32_t>(args, begin, end);
    case DType::i16:
      return rows<std::int16_t>(args, begin, end);
    case DType::i8:
      return rows<std::int8_t>(args, begin, end);
    case DType::u64:
      return rows<std::uint64_t>(args, begin, end);
    case DType::u32:
      return rows<std::uint32_t>(args, begin, end);
    case DType::u16:
      return rows<std::uint16_t>(args, begin, end);
    default:
      return rows<std::uint8_t>(args, begin, end);
  }
}

}  // namespace hearth::cpu
