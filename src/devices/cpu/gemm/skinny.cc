#include "devices/cpu/gemm/skinny.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/integer_math.h"
#include "core/thread_owned.h"
#include "devices/cpu/gemm/batch.h"
#include "devices/cpu/gemm/chains.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/scratch.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {
namespace {

// Below this many bytes of the large matrix a second thread costs more than it brings.
constexpr std::int64_t kForkBytes = 192 * 1024;
constexpr std::int64_t kChunkBytes = 64 * 1024;
// Rows of the small matrix, at most. Where the columns of the large one are contiguous, packing
// them first pays only later; sooner with bf16 instructions.
constexpr std::int64_t kSkinnyRows = 4;
constexpr std::int64_t kSkinnyDotRows = 24;
constexpr std::int64_t kSkinnyBf16DotRows = 8;
// Extents of the large matrix, at least.
constexpr std::int64_t kSkinnyLength = 16;
// Columns that are worked on at a time; their sums stay in the first-level cache.
constexpr std::int64_t kMaxColumns = 2048;
constexpr std::int64_t kColumnUnit = 64;  // whole vectors of every type and target

struct SkinnyScratch {
  GemmScratch x, sums, tile, part;
};
SkinnyScratch& skinny_scratch() { return ThreadOwned<SkinnyScratch>::get(); }

// How values of type S are multiplied: as type X, into sums of type T. rows() goes on with the
// chains in y, columns() does whole ones.
template <class S>
struct Converted {
  using Source = S;
  using X = std::conditional_t<std::is_same_v<S, double>, double, float>;
  using T = X;
  std::int64_t depth = GemmBlocking().depth_bytes / static_cast<std::int64_t>(sizeof(X));
  bool has_parts = true;

  static const auto& kernels() {
    if constexpr (std::is_same_v<S, double>) {
      return cpu_skinny().f64;
    } else if constexpr (std::is_same_v<S, float16>) {
      return cpu_skinny().f16;
    } else if constexpr (std::is_same_v<S, bfloat16>) {
      return cpu_skinny().bf16;
    } else {
      return cpu_skinny().f32;
    }
  }
  void copy(const S* from, std::int64_t row, std::int64_t col, std::int64_t m, std::int64_t k,
            X* to) const {
    const auto run = [&](const auto& copies) { copies.copy(from, row, col, m, k, to, k); };
    if constexpr (std::is_same_v<S, double>) {
      run(cpu_gemm().from_f64);
    } else if constexpr (std::is_same_v<S, float16>) {
      run(cpu_gemm().from_f16);
    } else if constexpr (std::is_same_v<S, bfloat16>) {
      run(cpu_gemm().from_bf16);
    } else {
      run(cpu_gemm().from_f32);
    }
  }
  void columns(const ChainProduct<X, S, T>& p) const {
    if constexpr (std::is_same_v<S, double>) {
      cpu_chains().f64(p);
    } else if constexpr (std::is_same_v<S, float16>) {
      cpu_chains().f16(p);
    } else if constexpr (std::is_same_v<S, bfloat16>) {
      cpu_chains().bf16(p);
    } else {
      cpu_chains().f32(p);
    }
  }
  void rows(const ChainProduct<X, S, T>& p) const {
    kernels().rows(p.m, p.n, p.k, p.x, p.x_stride, p.b, p.b_stride, p.y, p.y_stride);
  }
};

struct Pairs {
  using Source = bfloat16;
  using X = bfloat16;
  using T = float;
  const PairChains* chains;
  std::int64_t depth = GemmBlocking().depth_bytes / static_cast<std::int64_t>(sizeof(X));
  bool has_parts = chains->has_parts;

  void copy(const bfloat16* from, std::int64_t row, std::int64_t col, std::int64_t m,
            std::int64_t k, X* to) const {
    cpu_gemm().copy_bf16(from, row, col, m, k, to, k);
  }
  void columns(const ChainProduct<X, X, T>& p) const { chains->columns(p); }
  void rows(const ChainProduct<X, X, T>& p) const { chains->rows(p); }
};

// The product seen so that `x` is the small matrix and has few rows: C' = x * B. When C itself has
// few columns, all three are transposed.
struct View {
  std::int64_t m, n, k;
  const void* x;
  std::int64_t x_row_stride, x_col_stride;
  const void* b;
  std::int64_t b_row_stride, b_col_stride;
  bool transposed;
};

View view_of(const GemmArgs& g) {
  if (g.m <= kSkinnyRows || g.n > kSkinnyRows) {
    return {
        g.m,  g.n, g.k, g.a, g.a_row_stride, g.a_col_stride, g.b, g.b_row_stride, g.b_col_stride,
        false};
  }
  return {g.n, g.m, g.k, g.b, g.b_col_stride, g.b_row_stride, g.a, g.a_col_stride, g.a_row_stride,
          true};
}

// Where B has contiguous rows: chains a part of k at a time.
template <class How, class Product>
void run_parts(const How& how, Product p) {
  using T = typename How::T;
  const auto clear = [&](T* y, std::int64_t stride) {
    for (std::int64_t i = 0; i < p.m; ++i) std::fill_n(y + i * stride, p.n, T{0});
  };
  if (!p.accumulate) clear(p.y, p.y_stride);
  if (!how.has_parts) return how.rows(p);
  T* const y = p.y;
  const std::int64_t y_stride = p.y_stride, k = p.k;
  bool adds = p.accumulate;
  for (std::int64_t first = 0; first < k; first += p.depth) {
    p.k = std::min(p.depth, k - first);
    if (adds) {
      p.y = skinny_scratch().part.template take<T>(p.m * p.n);
      p.y_stride = p.n;
      clear(p.y, p.n);
    }
    how.rows(p);
    for (std::int64_t i = 0; adds && i < p.m; ++i) {
      for (std::int64_t q = 0; q < p.n; ++q) y[i * y_stride + q] += p.y[i * p.n + q];
    }
    adds = true;
    p.x += p.k;
    p.b += p.k * p.b_stride;
  }
}

// Columns [j, j + n) of the result of a view.
template <class How, class R>
void run_columns(const How& how, const GemmArgs& g, std::int64_t batch, const View& v,
                 const typename How::X* x, std::int64_t x_stride, std::int64_t j, std::int64_t n) {
  using T = typename How::T;
  using S = typename How::Source;
  // The tile as it lies in C.
  const std::int64_t row = v.transposed ? j : 0;
  const std::int64_t col = v.transposed ? 0 : j;
  const std::int64_t tile_rows = v.transposed ? n : v.m;
  const std::int64_t tile_cols = v.transposed ? v.m : n;
  R* const c = static_cast<R*>(g.c) + row * g.c_row_stride + col;
  T* sums = nullptr;
  std::int64_t stride = g.c_row_stride;
  const bool in_place = std::is_same_v<R, T> && !v.transposed;
  if (in_place) {
    sums = reinterpret_cast<T*>(c);
  } else {
    stride = n;
    sums = skinny_scratch().sums.take<T>(v.m * n);
    for (std::int64_t i = 0; g.accumulate && i < tile_rows; ++i) {
      for (std::int64_t q = 0; q < tile_cols; ++q) {
        sums[v.transposed ? q * stride + i : i * stride + q] =
            static_cast<T>(c[i * g.c_row_stride + q]);
      }
    }
  }
  ChainProduct<typename How::X, S, T> p{v.m,     n, v.k,  how.depth, x,           x_stride,
                                        nullptr, 0, sums, stride,    g.accumulate};
  p.b = static_cast<const S*>(v.b) + j * v.b_col_stride;
  if (v.b_col_stride == 1) {
    p.b_stride = v.b_row_stride;
    run_parts(how, p);
  } else {
    p.b_stride = v.b_col_stride;
    how.columns(p);
  }

  T* tile = sums;
  std::int64_t tile_stride = stride;
  if (v.transposed && v.m > 1) {
    tile_stride = v.m;
    tile = skinny_scratch().tile.take<T>(v.m * n);
    for (std::int64_t i = 0; i < v.m; ++i) {
      for (std::int64_t q = 0; q < n; ++q) tile[q * tile_stride + i] = sums[i * stride + q];
    }
  } else if (v.transposed) {
    tile_stride = 1;
  }
  if (g.epilogue.apply != nullptr) {
    g.epilogue.apply(g.epilogue.context, tile, tile_stride, batch, row, col, tile_rows, tile_cols);
  }
  if (in_place) return;
  for (std::int64_t i = 0; i < tile_rows; ++i) {
    for (std::int64_t q = 0; q < tile_cols; ++q) {
      c[i * g.c_row_stride + q] = static_cast<R>(tile[i * tile_stride + q]);
    }
  }
}

template <class How, class R>
void run(const How& how, const GemmArgs& g, std::int64_t batch, const View& v) {
  using S = typename How::Source;
  using X = typename How::X;
  const X* x = nullptr;
  std::int64_t x_stride = v.x_row_stride;
  if (std::is_same_v<S, X> && v.x_col_stride == 1) {
    x = static_cast<const X*>(v.x);
  } else {
    X* copy = skinny_scratch().x.take<X>(v.m * v.k);
    x_stride = v.k;
    how.copy(static_cast<const S*>(v.x), v.x_row_stride, v.x_col_stride, v.m, v.k, copy);
    x = copy;
  }
  const std::int64_t column_bytes = v.k * static_cast<std::int64_t>(sizeof(S));
  const bool parallel = v.n * column_bytes >= kForkBytes;
  std::int64_t columns = kMaxColumns;
  if (parallel) {
    columns = std::clamp(kChunkBytes / column_bytes, kColumnUnit, kMaxColumns);
    // Long contiguous runs for rows that lie far apart.
    if (v.b_col_stride == 1) columns = std::clamp(v.n / 8, columns, kMaxColumns);
    columns = round_up(columns, kColumnUnit);
  }
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    run_columns<How, R>(how, g, batch, v, x, x_stride, begin, end - begin);
  };
  if (!parallel) {
    for (std::int64_t j = 0; j < v.n; j += columns) body(j, std::min(j + columns, v.n));
    return;
  }
  const ThreadLimit limit(g.threads > 0 ? g.threads : WorkerPool::kMaxThreads);
  const auto wake = v.n * column_bytes < 16 * kForkBytes ? WorkerPool::Wake::if_frequent
                                                         : WorkerPool::Wake::always;
  WorkerPool::global().parallel_for_range(v.n, columns, body, wake);
}

template <class How>
void run_half(const How& how, const GemmArgs& g, std::int64_t batch, const View& v) {
  g.c_dtype == DType::f32 ? run<How, float>(how, g, batch, v)
                          : run<How, typename How::Source>(how, g, batch, v);
}

// The order in which gemm() adds up.
const PairChains* chains_of(const GemmArgs& g) {
  const Bf16Gemm* const how = bf16_gemm_of(g.n, g.k);
  return how == nullptr ? nullptr : how == bf16_gemm() ? bf16_chains() : amx_chains();
}

void run_one(const GemmArgs& g, std::int64_t batch) {
  const View v = view_of(g);
  switch (g.dtype) {
    case DType::f32:
      return run<Converted<float>, float>({}, g, batch, v);
    case DType::f64:
      return run<Converted<double>, double>({}, g, batch, v);
    case DType::f16:
      return run_half(Converted<float16>(), g, batch, v);
    default:
      if (const PairChains* const chains = chains_of(g)) {
        return run_half(Pairs{chains}, g, batch, v);
      }
      return run_half(Converted<bfloat16>(), g, batch, v);
  }
}

}  // namespace

bool can_be_skinny(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  return is_float(dtype) && k >= kSkinnyLength &&
         (n <= kSkinnyRows || (n >= kSkinnyLength && m <= kSkinnyDotRows));
}

bool is_skinny(const GemmArgs& g) {
  if (g.m == 0 || g.n == 0 || !can_be_skinny(g.dtype, g.m, g.n, g.k)) return false;
  const View v = view_of(g);
  const bool pairs = g.dtype == DType::bf16 && bf16_gemm() != nullptr;
  const std::int64_t most = v.b_col_stride == 1 ? kSkinnyRows
                            : pairs             ? kSkinnyBf16DotRows
                                                : kSkinnyDotRows;
  if (v.m > most || v.n < kSkinnyLength) return false;
  if (v.b_col_stride != 1 && v.b_row_stride != 1) return false;
  // The tiles of the general product do as well with a few rows of f32 that lie in a cache.
  return v.b_col_stride != 1 || v.m == 1 || v.transposed || v.n * v.k >= 64 * 1024 ||
         (g.dtype != DType::f32 && g.dtype != DType::f64);
}

void gemm_skinny(const GemmArgs& args, const GemmBatch& batch) {
  for_products(args, batch, run_one);
}

}  // namespace hearth::cpu
