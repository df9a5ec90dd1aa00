// What the kernels of scatter_add have in common.
#pragma once

#include <cstdint>

#include "hearth/dtype.h"

namespace hearth::gpu {

// The type that sums are kept in, and its bytes: f32 for the small floats; integers wrap, and those
// below 32 bits are cut when they are stored.
struct SumType {
  explicit SumType(DType dtype)
      : name(is_float(dtype) ? (dtype == DType::f64 ? "double" : "float")
                             : (size_of(dtype) == 8 ? "ulong" : "uint")),
        bytes(size_of(dtype) == 8 ? 8 : 4) {}
  const char* name;
  std::int64_t bytes;
};

// Atomic additions: of integers always, their sums do not depend on the order; of floats where
// equal runs may differ.
bool by_atomics(DType dtype);

// `count` elements in lines so short, or so many, that one thread a line is soonest done.
bool adds_by_thread(std::int64_t count, std::int64_t length);

}  // namespace hearth::gpu
