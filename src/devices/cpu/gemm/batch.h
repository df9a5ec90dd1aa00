// A batch of products, and when the worker pool is worth its while.
#pragma once

#include <algorithm>
#include <cstdint>

#include "devices/cpu/gemm/gemm.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {

// Below this much work a second thread costs more than it brings.
inline constexpr double kForkFlops = 1e6;
// A chunk of a loop over the pool should be at least this much work.
inline constexpr double kChunkFlops = 4e4;

inline double flops(const GemmArgs& g) {
  return 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
}

// Calls one(product, number in the batch) for each, in parallel where that is worth more than
// threads within a product.
template <class One>
void for_products(const GemmArgs& args, const GemmBatch& batch, const One& one) {
  if (batch.count == 1) return one(args, 0);
  const auto item = [&](std::int64_t i) {
    const std::int64_t bytes = i * size_of(args.dtype);
    GemmArgs product = args;
    product.a = static_cast<const char*>(args.a) + batch.a_stride * bytes;
    product.b = static_cast<const char*>(args.b) + batch.b_stride * bytes;
    product.c = static_cast<char*>(args.c) + i * batch.c_stride * size_of(args.c_dtype);
    one(product, i);
  };
  const double all = flops(args) * static_cast<double>(batch.count);
  const int pool = WorkerPool::global().threads();
  const int threads = args.threads > 0 ? std::min(args.threads, pool) : pool;
  if (threads == 1 || all < kForkFlops ||
      (batch.count < 4 * threads && flops(args) > 16 * kForkFlops)) {
    for (std::int64_t i = 0; i < batch.count; ++i) item(i);
    return;
  }
  const auto grain = static_cast<std::int64_t>(kChunkFlops / std::max(flops(args), 1.0));
  const ThreadLimit limit(threads);
  WorkerPool::global().parallel_for_range(batch.count, std::max<std::int64_t>(grain, 1),
                                          [&](std::int64_t begin, std::int64_t end) {
                                            for (std::int64_t i = begin; i < end; ++i) item(i);
                                          });
}

}  // namespace hearth::cpu
