#include "devices/cpu/gemm.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "devices/cpu/gemm_integer.h"
#include "devices/cpu/gemm_kernels.h"
#include "devices/cpu/gemm_scratch.h"
#include "runtime/worker_pool.h"

namespace hearth::cpu {
namespace {

// Below this much work a second thread costs more than it brings.
constexpr double kForkFlops = 4e5;
// A chunk of a loop over the pool should be at least this much work.
constexpr double kChunkFlops = 1e5;
// The part of k that is multiplied before the sums go back to C. Part of the result's rounding.
constexpr std::int64_t kDepth = 384;
// Most bytes of packed B at a time, and that a thread keeps afterwards.
constexpr std::int64_t kPackBytes = std::int64_t{8} << 20;
constexpr std::size_t kKeepBytes = std::size_t{16} << 20;

thread_local GemmScratch t_pack;  // panels of B, filled by the thread that asked
thread_local GemmScratch t_rows;  // rows of A of a task
thread_local GemmScratch t_tile;  // sums of a task, where C is narrower

double flops(const GemmArgs& g) {
  return 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The kernels of a source type S, and the type T that it is multiplied in.
template <class S>
struct Compute {
  using T = float;
};
template <>
struct Compute<double> {
  using T = double;
};

const GemmKernels<float>& kernels_for(float) { return cpu_gemm().f32; }
const GemmKernels<double>& kernels_for(double) { return cpu_gemm().f64; }
const GemmCopies<float, float>& copies_for(float) { return cpu_gemm().from_f32; }
const GemmCopies<double, double>& copies_for(double) { return cpu_gemm().from_f64; }
const GemmCopies<float16, float>& copies_for(float16) { return cpu_gemm().from_f16; }
const GemmCopies<bfloat16, float>& copies_for(bfloat16) { return cpu_gemm().from_bf16; }

void narrow(const float* tile, std::int64_t stride, std::int64_t rows, std::int64_t cols, float16* c,
            std::int64_t c_stride) {
  cpu_gemm().to_f16(tile, stride, 1, rows, cols, c, c_stride);
}
void narrow(const float* tile, std::int64_t stride, std::int64_t rows, std::int64_t cols,
            bfloat16* c, std::int64_t c_stride) {
  cpu_gemm().to_bf16(tile, stride, 1, rows, cols, c, c_stride);
}

// One product, S times S to R, multiplied and added in T.
template <class S, class R>
class Product {
 public:
  using T = typename Compute<S>::T;

  Product(const GemmArgs& args, std::int64_t batch)
      : g_(args), batch_(batch), kernels_(kernels_for(T{})) {
    const std::int64_t lanes = kernels_.lanes;
    direct_b_ = std::is_same_v<S, T> && g_.b_col_stride == 1 &&
                (g_.n % lanes == 0 || kernels_.partial_vectors) && b_stays_cached();
    direct_a_ = std::is_same_v<S, T> && a_reads_well();
    panel_ = kernels_.vectors * lanes;
  }

  void run() {
    const int threads = usable_threads();
    choose_tasks(threads);
    if (direct_b_) {
      run_tasks(threads, nullptr, 0, groups_);
      return;
    }
    // Pack as many column groups as fit, multiply by them, go on.
    const std::int64_t group_bytes = g_.k * cols_ * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t at_once =
        std::clamp<std::int64_t>(kPackBytes / std::max<std::int64_t>(group_bytes, 1), 1, groups_);
    T* panels = t_pack.take<T>(at_once * g_.k * cols_);
    for (std::int64_t first = 0; first < groups_; first += at_once) {
      const std::int64_t groups = std::min(at_once, groups_ - first);
      pack(threads, panels, first, groups);
      run_tasks(threads, panels, first, groups);
    }
    t_pack.trim(kKeepBytes);
  }

 private:
  // Whether reading B where it lies, once for each few rows of A, beats packing it first.
  bool b_stays_cached() const {
    if (g_.m <= 12) return true;
    const std::int64_t bytes = g_.n * g_.k * static_cast<std::int64_t>(sizeof(T));
    return bytes <= 256 * 1024;
  }

  bool a_reads_well() const {
    if (g_.a_col_stride == 1 || g_.n <= panel_) return true;
    return g_.k * (g_.m + g_.n) <= 16 * 1024;
  }

  int usable_threads() const {
    if (flops(g_) < kForkFlops) return 1;
    const int pool = WorkerPool::global().threads();
    return g_.threads > 0 ? std::min(g_.threads, pool) : pool;
  }

  void choose_tasks(int threads) {
    rows_ = 96;
    cols_ = direct_a_ ? 4 * panel_ : 8 * panel_;
    const auto tasks = [this] { return ceil_div(g_.m, rows_) * ceil_div(g_.n, cols_); };
    const auto few = [&] {
      return threads > 1 && tasks() < 4 * threads && flops(g_) / tasks() > 2 * kChunkFlops;
    };
    while (few() && cols_ > panel_) cols_ /= 2;
    while (few() && rows_ > 12) rows_ /= 2;
    groups_ = ceil_div(g_.n, cols_);
  }

  void pack(int threads, T* panels, std::int64_t first, std::int64_t groups) {
    const std::int64_t slices = ceil_div(g_.k, kPackRows);
    const auto* b = static_cast<const S*>(g_.b);
    const auto pack_slice = [&](std::int64_t chunk) {
      const std::int64_t group = chunk / slices;
      const std::int64_t p = chunk % slices * kPackRows;
      const std::int64_t j = (first + group) * cols_;
      copies_for(S{}).pack(b + p * g_.b_row_stride + j * g_.b_col_stride, g_.b_row_stride,
                           g_.b_col_stride, p, std::min(kPackRows, g_.k - p),
                           std::min(cols_, g_.n - j), g_.k, panels + group * g_.k * cols_);
    };
    loop(threads, groups * slices, pack_slice);
  }

  void run_tasks(int threads, const T* panels, std::int64_t first, std::int64_t groups) {
    const std::int64_t blocks = ceil_div(g_.m, rows_);
    const auto task = [&](std::int64_t chunk) {
      const std::int64_t group = chunk / blocks;
      run_task(chunk % blocks * rows_, (first + group) * cols_,
               panels == nullptr ? nullptr : panels + group * g_.k * cols_);
    };
    loop(threads, blocks * groups, task);
  }

  template <class Body>
  void loop(int threads, std::int64_t chunks, const Body& body) {
    if (threads <= 1 || chunks <= 1) {
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
      return;
    }
    const ThreadLimit limit(threads);
    const auto wake = flops(g_) < 4e6 ? WorkerPool::Wake::if_frequent : WorkerPool::Wake::always;
    WorkerPool::global().parallel_for(chunks, body, wake);
  }

  // Rows from i and columns from j of C.
  void run_task(std::int64_t i, std::int64_t j, const T* panels) {
    const std::int64_t m = std::min(rows_, g_.m - i);
    const std::int64_t n = std::min(cols_, g_.n - j);
    R* c = static_cast<R*>(g_.c) + i * g_.c_row_stride + j;
    GemmBlock<T> block{};
    block.m = m;
    block.n = n;
    block.packed = panels != nullptr;
    if constexpr (std::is_same_v<R, T>) {
      block.c = c;
      block.c_row_stride = g_.c_row_stride;
    } else {
      block.c_row_stride = cols_;
      block.c = t_tile.take<T>(rows_ * cols_);
      if (g_.accumulate) {
        copies_for(R{}).copy(c, g_.c_row_stride, 1, m, n, block.c, block.c_row_stride);
      }
    }
    const auto* a = static_cast<const S*>(g_.a) + i * g_.a_row_stride;
    for (std::int64_t p = 0; p == 0 || p < g_.k; p += kDepth) {
      block.k = std::min(kDepth, g_.k - p);
      block.accumulate = g_.accumulate || p > 0;
      const S* a_part = a + p * g_.a_col_stride;
      if (direct_a_) {
        block.a = reinterpret_cast<const T*>(a_part);
        block.a_row_stride = g_.a_row_stride;
        block.a_col_stride = g_.a_col_stride;
      } else {
        block.a_row_stride = kDepth + kRowPad;
        block.a_col_stride = 1;
        T* rows = t_rows.take<T>(rows_ * block.a_row_stride);
        copies_for(S{}).copy(a_part, g_.a_row_stride, g_.a_col_stride, m, block.k, rows,
                             block.a_row_stride);
        block.a = rows;
      }
      if (panels != nullptr) {
        // Panels are k rows high; those of this part begin p rows down, whatever their width.
        block.b = panels;
        block.b_panel_stride = g_.k;
        block.b_row = p;
      } else {
        block.b = reinterpret_cast<const T*>(static_cast<const S*>(g_.b)) + j + p * g_.b_row_stride;
        block.b_panel_stride = 1;
        block.b_step = g_.b_row_stride;
        block.b_row = 0;
      }
      kernels_.block(block);
    }
    if (g_.epilogue.apply != nullptr) {
      g_.epilogue.apply(g_.epilogue.context, block.c, block.c_row_stride, batch_, i, j, m, n);
    }
    if constexpr (!std::is_same_v<R, T>) narrow(block.c, block.c_row_stride, m, n, c, g_.c_row_stride);
  }

  static constexpr std::int64_t kPackRows = 64;
  static constexpr std::int64_t kRowPad = 16;  // keeps rows off the same cache sets

  const GemmArgs& g_;
  std::int64_t batch_;
  const GemmKernels<T>& kernels_;
  bool direct_a_ = false;
  bool direct_b_ = false;
  std::int64_t panel_ = 0;
  std::int64_t rows_ = 0;  // of a task
  std::int64_t cols_ = 0;
  std::int64_t groups_ = 0;
};

void run_integer(const GemmArgs& g) {
  const std::int64_t grain =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kChunkFlops / (1 + flops(g) / static_cast<double>(g.m))));
  const auto rows = [&](std::int64_t begin, std::int64_t end) { gemm_integer_rows(g, begin, end); };
  if (flops(g) < kForkFlops) return rows(0, g.m);
  const ThreadLimit limit(g.threads > 0 ? g.threads : WorkerPool::kMaxThreads);
  WorkerPool::global().parallel_for_range(g.m, grain, rows);
}

void run_one(const GemmArgs& g, std::int64_t batch) {
  const bool same = g.c_dtype == g.dtype;
  switch (g.dtype) {
    case DType::f32: return Product<float, float>(g, batch).run();
    case DType::f64: return Product<double, double>(g, batch).run();
    case DType::f16:
      return same ? Product<float16, float16>(g, batch).run() : Product<float16, float>(g, batch).run();
    case DType::bf16:
      return same ? Product<bfloat16, bfloat16>(g, batch).run()
                  : Product<bfloat16, float>(g, batch).run();
    default: return run_integer(g);
  }
}

void check(const GemmArgs& g) {
  if (g.m < 0 || g.n < 0 || g.k < 0) {
    throw Error(ErrorCode::shape, "matmul: negative extent; got m=" + std::to_string(g.m) + " n=" +
                                      std::to_string(g.n) + " k=" + std::to_string(g.k));
  }
  const bool half = g.dtype == DType::f16 || g.dtype == DType::bf16;
  if (is_bool(g.dtype) || (g.c_dtype != g.dtype && !(half && g.c_dtype == DType::f32))) {
    throw Error(ErrorCode::dtype, "matmul: cannot multiply " + std::string(name(g.dtype)) + " into " +
                                      std::string(name(g.c_dtype)));
  }
}

const void* offset(const void* base, std::int64_t elements, DType dtype) {
  return static_cast<const char*>(base) + elements * size_of(dtype);
}
void* offset(void* base, std::int64_t elements, DType dtype) {
  return static_cast<char*>(base) + elements * size_of(dtype);
}

}  // namespace

void gemm(const GemmArgs& args) {
  check(args);
  if (args.m == 0 || args.n == 0) return;
  run_one(args, 0);
}

void gemm_batched(const GemmArgs& args, const GemmBatch& batch) {
  check(args);
  if (args.m == 0 || args.n == 0 || batch.count <= 0) return;
  const auto item = [&](std::int64_t i) {
    GemmArgs one = args;
    one.a = offset(args.a, i * batch.a_stride, args.dtype);
    one.b = offset(args.b, i * batch.b_stride, args.dtype);
    one.c = offset(args.c, i * batch.c_stride, args.c_dtype);
    run_one(one, i);
  };
  if (batch.count == 1) return item(0);
  // One matrix B for rows that follow one another: a single tall product.
  if (batch.b_stride == 0 && args.epilogue.apply == nullptr &&
      batch.a_stride == args.m * args.a_row_stride && batch.c_stride == args.m * args.c_row_stride) {
    GemmArgs tall = args;
    tall.m *= batch.count;
    return run_one(tall, 0);
  }
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
  WorkerPool::global().parallel_for_range(
      batch.count, std::max<std::int64_t>(grain, 1),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) item(i);
      });
}

}  // namespace hearth::cpu
