#include "devices/cpu/gemm/skinny.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/integer_math.h"
#include "core/thread_owned.h"
#include "devices/cpu/gemm/batch.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/order.h"
#include "devices/cpu/gemm/scratch.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {
namespace {

// Below this many bytes of the large matrix a second thread costs more than it brings.
constexpr std::int64_t kForkBytes = 192 * 1024;
constexpr std::int64_t kChunkBytes = 64 * 1024;
// Rows of the small matrix, at most: where those of the large one are contiguous, and, in place of
// kSkinnyDotRows, with bf16 instructions, and where tiles of them take over.
constexpr std::int64_t kSkinnyRows = 4;
constexpr std::int64_t kSkinnyBf16DotRows = 24, kSkinnyBeforeTiles = 8;
// Extents of the large matrix, at least.
constexpr std::int64_t kSkinnyLength = 16;
// Columns that are worked on at a time; their sums stay in the first-level cache.
constexpr std::int64_t kMaxColumns = 2048;
constexpr std::int64_t kColumnUnit = 64;  // whole vectors of every type and target

struct SkinnyScratch {
  GemmScratch x, sums, tile;
};
SkinnyScratch& skinny_scratch() { return ThreadOwned<SkinnyScratch>::get(); }

// How values of type S are multiplied: x as type X, sums as T.
template <class S>
struct Few;
template <>
struct Few<float> {
  using Source = float;
  using X = float;
  using T = float;
  static auto copy() { return cpu_gemm().from_f32.copy; }
  static auto rows() { return cpu_skinny().f32.rows; }
  static auto cols() { return cpu_skinny().f32.cols; }
};
template <>
struct Few<double> {
  using Source = double;
  using X = double;
  using T = double;
  static auto copy() { return cpu_gemm().from_f64.copy; }
  static auto rows() { return cpu_skinny().f64.rows; }
  static auto cols() { return cpu_skinny().f64.cols; }
};
template <>
struct Few<float16> {
  using Source = float16;
  using X = float;
  using T = float;
  static auto copy() { return cpu_gemm().from_f16.copy; }
  static auto rows() { return cpu_skinny().f16.rows; }
  static auto cols() { return cpu_skinny().f16.cols; }
};
template <>
struct Few<bfloat16> {
  using Source = bfloat16;
  using X = float;
  using T = float;
  static auto copy() { return cpu_gemm().from_bf16.copy; }
  static auto rows() { return cpu_skinny().bf16.rows; }
  static auto cols() { return cpu_skinny().bf16.cols; }
};
struct FewPairs {  // by columns alone
  using Source = bfloat16;
  using X = bfloat16;
  using T = float;
  static auto copy() { return cpu_gemm().copy_bf16; }
  static SkinnyProduct<X, Source, T> rows() { return nullptr; }
  static auto cols() { return bf16_columns(); }
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

// Columns [j, j + n) of the result of a view.
template <class How, class R>
void run_columns(const GemmArgs& g, std::int64_t batch, const View& v, const typename How::X* x,
                 std::int64_t x_stride, std::int64_t j, std::int64_t n) {
  using S = typename How::Source;
  using T = typename How::T;
  R* c = static_cast<R*>(g.c);
  T* sums = nullptr;
  std::int64_t stride = g.c_row_stride;
  const bool in_place = std::is_same_v<R, T> && !v.transposed;
  if (in_place) {
    sums = reinterpret_cast<T*>(c + j);
  } else {
    stride = n;
    sums = skinny_scratch().sums.take<T>(v.m * n);
  }
  if (!in_place || !g.accumulate) {
    // What adds nothing, not even its sign.
    for (std::int64_t i = 0; i < v.m; ++i) std::fill_n(sums + i * stride, n, -T{0});
  }
  const S* b = static_cast<const S*>(v.b) + j * v.b_col_stride;
  if (v.b_col_stride == 1) {
    How::rows()(v.m, n, v.k, x, x_stride, b, v.b_row_stride, sums, stride);
  } else {
    How::cols()(v.m, n, v.k, x, x_stride, b, v.b_col_stride, sums, stride);
  }

  // The tile as it lies in C.
  const std::int64_t row = v.transposed ? j : 0;
  const std::int64_t col = v.transposed ? 0 : j;
  const std::int64_t tile_rows = v.transposed ? n : v.m;
  const std::int64_t tile_cols = v.transposed ? v.m : n;
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
  c += row * g.c_row_stride + col;
  if (!in_place && g.accumulate) {
    for (std::int64_t i = 0; i < tile_rows; ++i) {
      for (std::int64_t q = 0; q < tile_cols; ++q) {
        tile[i * tile_stride + q] += static_cast<T>(c[i * g.c_row_stride + q]);
      }
    }
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
void run(const GemmArgs& g, std::int64_t batch, const View& v) {
  using S = typename How::Source;
  using X = typename How::X;
  const X* x = nullptr;
  std::int64_t x_stride = v.x_row_stride;
  if (std::is_same_v<S, X> && v.x_col_stride == 1) {
    x = static_cast<const X*>(v.x);
  } else {
    X* copy = skinny_scratch().x.take<X>(v.m * v.k);
    x_stride = v.k;
    How::copy()(static_cast<const S*>(v.x), v.x_row_stride, v.x_col_stride, v.m, v.k, copy,
                x_stride);
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
    run_columns<How, R>(g, batch, v, x, x_stride, begin, end - begin);
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
void run_half(const GemmArgs& g, std::int64_t batch, const View& v) {
  g.c_dtype == DType::f32 ? run<How, float>(g, batch, v)
                          : run<How, typename How::Source>(g, batch, v);
}

void run_one(const GemmArgs& g, std::int64_t batch) {
  const View v = view_of(g);
  switch (g.dtype) {
    case DType::f32:
      return run<Few<float>, float>(g, batch, v);
    case DType::f64:
      return run<Few<double>, double>(g, batch, v);
    case DType::f16:
      return run_half<Few<float16>>(g, batch, v);
    default:
      if (v.b_col_stride != 1 && bf16_columns() != nullptr) return run_half<FewPairs>(g, batch, v);
      return run_half<Few<bfloat16>>(g, batch, v);
  }
}

// Rows of the small matrix at most where the columns of the large one are contiguous.
std::int64_t most_dot_rows(const GemmArgs& g) {
  if (g.dtype == DType::f64) return kSkinnyDotRows / 2;
  if (g.dtype != DType::bf16 || bf16_gemm() == nullptr) return cpu_skinny().dot_rows;
  return !g.by_row && amx_gemm() != nullptr ? kSkinnyBeforeTiles : kSkinnyBf16DotRows;
}

}  // namespace

bool can_be_skinny(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  return is_float(dtype) && k >= kSkinnyLength &&
         (n <= kSkinnyRows || (n >= kSkinnyLength && m <= kSkinnyDotRows));
}

bool is_skinny(const GemmArgs& g) {
  if (g.m == 0 || g.n == 0 || !can_be_skinny(g.dtype, g.m, g.n, g.k)) return false;
  const View v = view_of(g);
  if (v.m > (v.b_col_stride == 1 ? kSkinnyRows : most_dot_rows(g))) return false;
  if (v.n < kSkinnyLength) return false;
  if (v.b_col_stride != 1 && v.b_row_stride != 1) return false;
  if (v.b_col_stride == 1 && sums_by_class(g)) return false;  // kernels of rows have chains
  // The tiles of the general product do as well with a few rows of f32 that lie in a cache.
  return v.b_col_stride != 1 || v.m == 1 || v.transposed || v.n * v.k >= 64 * 1024 ||
         (g.dtype != DType::f32 && g.dtype != DType::f64);
}

void gemm_skinny(const GemmArgs& args, const GemmBatch& batch) {
  for_products(args, batch, run_one);
}

}  // namespace hearth::cpu
