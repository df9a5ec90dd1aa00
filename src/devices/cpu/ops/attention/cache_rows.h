// Products of a few lines with rows of a cache as they lie in memory: floats, or codes that are
// widened in registers. What decoding over a long cache spends its time with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hearth/dtype.h"
#include "ops/attention/paged.h"

namespace hearth::cpu {

// Of `count` rows, `stride` bytes apart. Sums are f32, and those of a line and a row do not depend
// on what else there is.
struct CacheRowKernels {
  // scores[i * score_stride + r] = line i of q [m, d] times row r.
  void (*dots)(std::int64_t m, std::int64_t d, std::int64_t count, const float* q,
               const std::byte* rows, std::int64_t stride, float* scores,
               std::int64_t score_stride);
  // sums [m, d] += weights[i * weight_stride + r] times row r, in the order of the rows.
  void (*sums)(std::int64_t m, std::int64_t d, std::int64_t count, const float* weights,
               std::int64_t weight_stride, const std::byte* rows, std::int64_t stride, float* sums);
};

// Of one target.
struct AllCacheRowKernels {
  CacheRowKernels f32, f16, bf16, q8_0, q4_0, turbo2, turbo3, turbo4;
};

// Of dense rows of a dtype, or of codes; null where there are none.
const CacheRowKernels* cache_row_kernels(DType dtype, paged::CacheFormat format);

}  // namespace hearth::cpu
