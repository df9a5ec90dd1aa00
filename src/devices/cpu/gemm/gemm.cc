#include "devices/cpu/gemm/gemm.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "core/integer_math.h"
#include "core/thread_owned.h"
#include "devices/cpu/gemm/batch.h"
#include "devices/cpu/gemm/by_class.h"
#include "devices/cpu/gemm/integer.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/order.h"
#include "devices/cpu/gemm/scratch.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {
namespace {

constexpr std::int64_t kLocalPanels = 2;
// Most bytes of B that are packed at a time, and that a thread keeps afterwards.
constexpr std::int64_t kPanelBytes = std::int64_t{8} << 20;
constexpr std::size_t kKeepBytes = std::size_t{16} << 20;

struct ProductScratch {
  GemmScratch panels;  // packed B, filled for all tasks of a product
  GemmScratch tiles;   // packed A, likewise, in tiles
  GemmScratch rows;    // packed A of a task
  GemmScratch row;     // of A, before it is dealt out
  GemmScratch tile;    // sums, where C is narrower
  GemmScratch chains;  // of classes, see order.h
};
ProductScratch& product_scratch() { return ThreadOwned<ProductScratch>::get(); }

WorkerPool::Wake wake_for(double work) {
  return work < 4e6 ? WorkerPool::Wake::if_frequent : WorkerPool::Wake::always;
}

// How values of type S are multiplied.
template <class S>
struct Converted {  // in f32, whatever S is
  using Source = S;
  using Weight = S;
  static const auto& kernels() { return cpu_gemm().f32; }
  static const auto& copies() {
    if constexpr (std::is_same_v<S, float16>) {
      return cpu_gemm().from_f16;
    } else if constexpr (std::is_same_v<S, bfloat16>) {
      return cpu_gemm().from_bf16;
    } else {
      return cpu_gemm().from_f32;
    }
  }
  static auto pack_weights() { return copies().pack; }
};
struct Doubles {
  using Source = double;
  using Weight = double;
  static const auto& kernels() { return cpu_gemm().f64; }
  static const auto& copies() { return cpu_gemm().from_f64; }
  static auto pack_weights() { return copies().pack; }
};
// B alone is of f16, and converted as it is packed.
struct Float16Weights : Converted<float> {
  using Weight = float16;
  static auto pack_weights() { return cpu_gemm().from_f16.pack; }
};
struct Bf16Pairs {
  using Source = bfloat16;
  using Weight = bfloat16;
  const auto& kernels() const { return gemm->kernels; }
  const auto& copies() const { return gemm->copies; }
  auto pack_weights() const { return copies().pack; }
  const Bf16Gemm* gemm;
};

void widen(const float16* c, std::int64_t c_stride, std::int64_t rows, std::int64_t cols,
           float* tile, std::int64_t stride) {
  cpu_gemm().from_f16.copy(c, c_stride, 1, rows, cols, tile, stride);
}
void widen(const bfloat16* c, std::int64_t c_stride, std::int64_t rows, std::int64_t cols,
           float* tile, std::int64_t stride) {
  cpu_gemm().from_bf16.copy(c, c_stride, 1, rows, cols, tile, stride);
}
void narrow(const float* tile, std::int64_t stride, std::int64_t rows, std::int64_t cols,
            float16* c, std::int64_t c_stride) {
  cpu_gemm().to_f16(tile, stride, 1, rows, cols, c, c_stride);
}
void narrow(const float* tile, std::int64_t stride, std::int64_t rows, std::int64_t cols,
            bfloat16* c, std::int64_t c_stride) {
  cpu_gemm().to_bf16(tile, stride, 1, rows, cols, c, c_stride);
}

// One product, multiplied the way `How` says, into elements of type R.
template <class How, class R>
class Product {
 public:
  using S = typename How::Source;  // of A, and of C where it is not R
  using W = typename How::Weight;  // of B
  using Kernels = std::remove_cvref_t<decltype(std::declval<const How&>().kernels())>;
  using X = typename Kernels::X;
  using P = typename Kernels::P;
  using T = typename Kernels::T;
  using Dealt = DealtRows<S, Kernels>;

  Product(const How& how, const GemmArgs& args, std::int64_t batch)
      : how_(how),
        g_(args),
        batch_(batch),
        kernels_(how_.kernels()),
        blocking_(kernels_.blocking),
        rows_by_class_(g_, kernels_, how_.copies().copy),
        by_class_(kernels_.deal != nullptr && sums_by_class(g_)),
        depth_(by_class_ ? Dealt::kDepth
                         : blocking_.depth_bytes / static_cast<std::int64_t>(sizeof(X))) {
    const std::int64_t lanes = kernels_.lanes;
    direct_b_ = std::is_same_v<W, P> && g_.b_col_stride == 1 && !by_class_ &&
                (g_.n % lanes == 0 || kernels_.partial_vectors) && b_stays_cached();
    local_rows_ = blocking_.local_rows;
    local_b_ = !direct_b_ && g_.m <= local_rows_;
    direct_a_ = std::is_same_v<S, X> && !by_class_ && a_reads_well();
    panel_ = kernels_.vectors * lanes;
    height_ = first_row(g_.k);
  }

  void run() {
    const int threads = usable_threads();
    if (by_amx() && !direct_b_ && threads > kSharingThreads && g_.m <= kAloneRows &&
        flops(g_) <= threads * kAloneFlops) {
      local_rows_ = kAloneRows;
      local_b_ = true;
    }
    if (threads == 1 && g_.m <= blocking_.task_rows && g_.n <= blocking_.task_cols &&
        (direct_b_ || local_b_)) {
      // One task; choosing its size would take longer than a small product.
      rows_ = ceil_div(g_.m, blocking_.row_unit) * blocking_.row_unit;
      cols_ = g_.n;
      return run_task(0, 0, nullptr);
    }
    choose_tasks(threads);
    const std::int64_t groups = ceil_div(g_.n, cols_);
    if (direct_b_ || local_b_) return run_tasks(threads, nullptr, 0, groups);
    // Pack as many groups of columns as fit, multiply by them, go on.
    const std::int64_t group = height_ * cols_;
    const std::int64_t at_once = std::clamp<std::int64_t>(
        kPanelBytes / std::max<std::int64_t>(group * static_cast<std::int64_t>(sizeof(P)), 1), 1,
        groups);
    P* panels = product_scratch().panels.take<P>(at_once * group);
    if (by_amx() && !direct_a_ && threads <= kSharingThreads &&
        padded_rows() * height_ <= kPanelBytes / 4) {
      tiles_ = product_scratch().tiles.take<X>(padded_rows() * height_ * kGroup);
    }
    if (by_class_ && groups > 1 &&
        rows_by_class_.size() * static_cast<std::int64_t>(sizeof(X)) <= kPanelBytes) {
      dealt_ = product_scratch().tiles.take<X>(rows_by_class_.size());
    }
    for (std::int64_t first = 0; first < groups; first += at_once) {
      const std::int64_t some = std::min(at_once, groups - first);
      pack(threads, panels, first, some);
      run_tasks(threads, panels, first, some);
    }
    product_scratch().panels.trim(kKeepBytes);
    product_scratch().tiles.trim(kKeepBytes);
  }

 private:
  // Whether reading B where it lies, once for each few rows of A, beats packing it first.
  bool b_stays_cached() const {
    if (g_.m <= 128) return true;
    const std::int64_t bytes = g_.n * g_.k * static_cast<std::int64_t>(sizeof(T));
    return bytes <= 256 * 1024;  // the least second-level cache
  }

  // Rows of a packed panel for `k` values.
  std::int64_t groups_of(std::int64_t k) const {
    const std::int64_t values = kGroup * blocking_.group_unit;
    return ceil_div(k, values) * blocking_.group_unit;
  }

  // Rows from a class to the next in the packed panels of the block of k that begins at p.
  std::int64_t class_rows_at(std::int64_t p) const {
    return by_class_ ? class_rows(ceil_div(std::min(depth_, g_.k - p), kGroup)) : 0;
  }

  // The row of packed panels where value p of k, which begins a slice, lies, and their height at
  // the end of k.
  std::int64_t first_row(std::int64_t p) const {
    if (!by_class_) return p == g_.k ? groups_of(p) : p / kGroup;
    const std::int64_t block = p / depth_ * kSumClasses * class_rows(kBlockWords);
    const std::int64_t within = p % depth_;
    if (p == g_.k) return block + kSumClasses * class_rows(ceil_div(within, kGroup));
    return block + within / kGroup / kSumClasses;
  }

  bool a_reads_well() const {
    if (by_amx()) {
      // Rows of tiles that lie apart cost more than packing them once for a few panels.
      const bool few = g_.m <= 4 * blocking_.row_panel ||
                       g_.n <= kLocalPanels * kernels_.vectors * kernels_.lanes;
      return few && g_.a_col_stride == 1 && g_.m % blocking_.row_panel == 0 &&
             g_.k % (kGroup * blocking_.group_unit) == 0;
    }
    if (g_.a_col_stride == 1) return true;
    if (kGroup != 1) return false;
    if (g_.n <= panel_) return true;
    return g_.k * (g_.m + g_.n) <= 16 * 1024;
  }

  int usable_threads() const {
    if (flops(g_) < kForkFlops) return 1;
    const int pool = WorkerPool::global().threads();
    return g_.threads > 0 ? std::min(g_.threads, pool) : pool;
  }

  // Splits change nothing in the result: the order of a sum does not depend on tasks.
  void choose_tasks(int threads) {
    // Packing A once for twice the columns halves its price.
    rows_ = even_part(g_.m, blocking_.task_rows, blocking_.row_unit);
    cols_ = even_part(g_.n, direct_a_ ? blocking_.task_cols : 2 * blocking_.task_cols, panel_);
    if (local_b_) {
      rows_ = even_part(g_.m, local_rows_, blocking_.row_unit);
      cols_ = even_part(g_.n, 4 * blocking_.task_cols, panel_);
    }
    const auto tasks = [this] { return ceil_div(g_.m, rows_) * ceil_div(g_.n, cols_); };
    const auto few = [&] {
      return threads > 1 && tasks() < 4 * threads &&
             flops(g_) > 2 * kChunkFlops * static_cast<double>(tasks());
    };
    const std::int64_t least_cols = std::max(panel_, blocking_.least_cols);
    while (few() && cols_ > least_cols) cols_ = even_part(cols_, cols_ / 2, panel_);
    while (few() && !local_b_ && blocking_.least_cols > 0 && rows_ > 2 * blocking_.row_unit) {
      rows_ = even_part(rows_, rows_ / 2, blocking_.row_unit);
    }
    while (few() && cols_ > panel_) cols_ = even_part(cols_, cols_ / 2, panel_);
    while (few() && rows_ > blocking_.row_unit) {
      // Here more rows of tasks mean packing B more often.
      if (local_b_ && (rows_ <= blocking_.task_rows || tasks() >= 2 * threads)) break;
      rows_ = even_part(rows_, rows_ / 2, blocking_.row_unit);
    }
  }

  // The size of equal parts of `extent`, in whole units, about `most` large.
  static std::int64_t even_part(std::int64_t extent, std::int64_t most, std::int64_t unit) {
    const std::int64_t parts = std::max<std::int64_t>(ceil_div(extent, most), 1);
    return std::max(ceil_div(ceil_div(extent, parts), unit), std::int64_t{1}) * unit;
  }

  void pack(int threads, P* panels, std::int64_t first, std::int64_t groups) {
    const std::int64_t slices = ceil_div(g_.k, kSlice);
    const auto* b = static_cast<const W*>(g_.b);
    const bool packs_a = (tiles_ != nullptr || dealt_ != nullptr) && first == 0;
    const std::int64_t bands = packs_a ? ceil_div(g_.m, kBand) : 0;
    loop(threads, groups * slices + bands, [&](std::int64_t chunk) {
      if (chunk >= groups * slices) return pack_band((chunk - groups * slices) * kBand);
      const std::int64_t group = chunk / slices;
      const std::int64_t p = chunk % slices * kSlice;
      const std::int64_t j = (first + group) * cols_;
      how_.pack_weights()(b + p * g_.b_row_stride + j * g_.b_col_stride, g_.b_row_stride,
                          g_.b_col_stride, std::min(kSlice, g_.k - p), std::min(cols_, g_.n - j),
                          height_, 0, first_row(p), class_rows_at(p / depth_ * depth_),
                          panels + group * height_ * cols_);
    });
  }

  // Rows from i of A, into tiles or dealt out: for each part of k all rows.
  void pack_band(std::int64_t i) {
    for (std::int64_t p = 0; dealt_ != nullptr && p < g_.k; p += depth_) {
      rows_by_class_.deal(i, std::min(kBand, g_.m - i), p, dealt_ + rows_by_class_.offset(i, p),
                          product_scratch().row);
    }
    if constexpr (std::is_same_v<S, bfloat16> && std::is_same_v<X, bfloat16>) {
      if (tiles_ == nullptr) return;
      const S* a = static_cast<const S*>(g_.a) + i * g_.a_row_stride;
      for (std::int64_t p = 0; p < g_.k; p += depth_) {
        const std::int64_t some = std::min(depth_, g_.k - p);
        kernels_.pack_tiles(a + p * g_.a_col_stride, g_.a_row_stride, g_.a_col_stride,
                            std::min(kBand, g_.m - i), some,
                            tiles_ + p * padded_rows() + i * groups_of(some) * kGroup);
      }
    }
  }

  std::int64_t padded_rows() const {
    return ceil_div(g_.m, blocking_.row_panel) * blocking_.row_panel;
  }

  void run_tasks(int threads, const P* panels, std::int64_t first, std::int64_t groups) {
    const std::int64_t down = ceil_div(g_.m, rows_);
    loop(threads, down * groups, [&](std::int64_t chunk) {
      const std::int64_t group = chunk / down;
      run_task(chunk % down * rows_, (first + group) * cols_,
               panels == nullptr ? nullptr : panels + group * height_ * cols_);
    });
  }

  template <class Body>
  void loop(int threads, std::int64_t chunks, const Body& body) {
    if (threads <= 1 || chunks <= 1) {
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
      return;
    }
    const ThreadLimit limit(threads);
    WorkerPool::global().parallel_for(chunks, body, wake_for(flops(g_)));
  }

  // Rows from i and columns from j of C.
  void run_task(std::int64_t i, std::int64_t j, const P* panels) {
    const std::int64_t m = std::min(rows_, g_.m - i);
    const std::int64_t n = std::min(cols_, g_.n - j);
    R* const c = static_cast<R*>(g_.c) + i * g_.c_row_stride + j;
    T* sums = nullptr;
    std::int64_t sums_stride = g_.c_row_stride;
    if constexpr (std::is_same_v<R, T>) {
      sums = c;
    } else {
      sums_stride = cols_;
      sums = product_scratch().tile.take<T>(rows_ * cols_);
      if (g_.accumulate) widen(c, g_.c_row_stride, m, n, sums, sums_stride);
    }

    GemmBlock<X, P, T> block{};
    block.m = m;
    block.n = n;
    block.c = sums;
    block.c_row_stride = sums_stride;
    for (std::int64_t p = 0; p == 0 || p < g_.k; p += depth_) {
      block.k = std::min(depth_, g_.k - p);
      block.accumulate = g_.accumulate || p > 0;
      place_a(i, p, block);
      const W* b = static_cast<const W*>(g_.b) + p * g_.b_row_stride + j * g_.b_col_stride;
      if (panels != nullptr) {
        block.b = panels;
        block.b_first = first_row(p);
        block.b_packed = true;
        block.b_panel_stride = height_;
      } else if (direct_b_) {
        block.b = reinterpret_cast<const P*>(b);
        block.b_panel_stride = 1;
        block.b_step = g_.b_row_stride;
      } else {
        pack_and_multiply(b, n, block);
        continue;
      }
      multiply(block);
    }
    if (g_.epilogue.apply != nullptr) {
      g_.epilogue.apply(g_.epilogue.context, sums, sums_stride, batch_, i, j, m, n);
    }
    if constexpr (!std::is_same_v<R, T>) narrow(sums, sums_stride, m, n, c, g_.c_row_stride);
  }

  // All columns of a task, a few panels at a time, which stay cached while all rows go by.
  void pack_and_multiply(const W* b, std::int64_t n, GemmBlock<X, P, T> block) {
    const std::int64_t rows = class_rows(ceil_div(block.k, kGroup));
    const std::int64_t height = by_class_ ? kSumClasses * rows : groups_of(block.k);
    const std::int64_t most = (by_class_ ? 1 : kLocalPanels) * panel_;
    block.b = product_scratch().panels.take<P>(height * most);
    block.b_packed = true;
    block.b_panel_stride = height;
    for (std::int64_t j = 0; j < n; j += most) {
      block.n = std::min(most, n - j);
      how_.pack_weights()(b + j * g_.b_col_stride, g_.b_row_stride, g_.b_col_stride, block.k,
                          block.n, height, 0, 0, by_class_ ? rows : 0, const_cast<P*>(block.b));
      multiply(block);
      block.c += most;
    }
  }

  void multiply(const GemmBlock<X, P, T>& block) {
    if (!by_class_ || block.k == 0) return kernels_.block(block);
    multiply_by_class(kernels_, block, product_scratch().chains);
  }

  // Rows from i and columns from p of A.
  void place_a(std::int64_t i, std::int64_t p, GemmBlock<X, P, T>& block) {
    const S* a = static_cast<const S*>(g_.a) + i * g_.a_row_stride + p * g_.a_col_stride;
    if (direct_a_) {
      block.a = reinterpret_cast<const X*>(a);
      block.a_row_stride = g_.a_row_stride;
      block.a_panel_stride = blocking_.row_panel * g_.a_row_stride;
      block.a_step = kGroup * blocking_.group_unit * g_.a_col_stride;
    } else if (by_amx()) {
      if (tiles_ != nullptr) {
        set_tiles(tiles_ + p * padded_rows() + i * groups_of(block.k) * kGroup, block);
      } else {
        place_tiles(a, block);
      }
    } else if (by_class_) {
      place_dealt(i, p, block);
    } else if (g_.a_col_stride == 1) {
      const std::int64_t stride = depth_ + 16;  // keeps rows off the same cache sets
      X* rows = product_scratch().rows.take<X>(rows_ * stride);
      how_.copies().copy(a, g_.a_row_stride, 1, block.m, block.k, rows, stride);
      block.a = rows;
      block.a_row_stride = stride;
      block.a_panel_stride = kRowPanel * stride;
      block.a_step = kGroup;
    } else {
      const std::int64_t height = ceil_div(block.k, kGroup);
      P* rows = product_scratch().rows.take<P>(rows_ * height);
      how_.copies().pack(a, g_.a_col_stride, g_.a_row_stride, block.k, block.m, height, kRowPanel,
                         0, 0, rows);
      block.a = reinterpret_cast<const X*>(rows);
      block.a_packed = true;
      block.a_row_stride = kGroup;
      block.a_panel_stride = kGroup * kRowPanel * height;
      block.a_step = kGroup * kRowPanel;
    }
  }

  void place_dealt(std::int64_t i, std::int64_t p, GemmBlock<X, P, T>& block) {
    if (dealt_ != nullptr) {
      return rows_by_class_.place(dealt_ + rows_by_class_.offset(i, p), p, block);
    }
    X* const rows = product_scratch().rows.take<X>(rows_by_class_.size_of_rows(rows_, p));
    rows_by_class_.deal(i, block.m, p, rows, product_scratch().row);
    rows_by_class_.place(rows, p, block);
  }

  bool by_amx() const { return kernels_.pack_tiles != nullptr; }

  void place_tiles(const S* a, GemmBlock<X, P, T>& block) {
    if constexpr (std::is_same_v<S, bfloat16> && std::is_same_v<X, bfloat16>) {
      const std::int64_t panel = blocking_.row_panel;
      X* const tiles = product_scratch().rows.take<X>(ceil_div(block.m, panel) * panel *
                                                      groups_of(block.k) * kGroup);
      kernels_.pack_tiles(a, g_.a_row_stride, g_.a_col_stride, block.m, block.k, tiles);
      set_tiles(tiles, block);
    }
  }

  void set_tiles(const X* tiles, GemmBlock<X, P, T>& block) const {
    const std::int64_t panel = blocking_.row_panel, wide = kGroup * blocking_.group_unit;
    block.a = tiles;
    block.a_packed = true;
    block.a_row_stride = wide;
    block.a_panel_stride = panel * groups_of(block.k) * kGroup;
    block.a_step = panel * wide;
  }

  static constexpr std::int64_t kGroup = sizeof(P) / sizeof(X);  // values of k in a row of a panel
  static constexpr std::int64_t kSlice = 64;  // rows of B that are packed at a time
  static constexpr std::int64_t kBand = 32;   // rows of A, likewise
  // By AMX. Up to so many threads A is packed once: most of what a thread reads of it is in its own
  // cache then, or what others pack is used often. More threads pack what they need, and of a
  // product of which each has little to do, no taller than kAloneRows, what they need of B too.
  static constexpr int kSharingThreads = 4;
  static constexpr std::int64_t kAloneRows = 1024;
  static constexpr double kAloneFlops = 64e6;

  How how_;
  const GemmArgs& g_;
  std::int64_t batch_;
  const Kernels& kernels_;
  const GemmBlocking& blocking_;
  Dealt rows_by_class_;
  bool by_class_;       // how sums are added up, see order.h
  std::int64_t depth_;  // values of k that are multiplied before the sums go back to C
  X* tiles_ = nullptr;  // all of A, where it is packed once
  X* dealt_ = nullptr;  // likewise
  bool direct_a_ = false;
  bool direct_b_ = false;
  bool local_b_ = false;         // each task packs the part of B that it needs
  std::int64_t local_rows_ = 0;  // of a task that does
  std::int64_t panel_ = 0;       // columns of a whole panel
  std::int64_t height_ = 0;      // rows of a packed panel
  std::int64_t rows_ = 0;        // of a task
  std::int64_t cols_ = 0;
};

void run_integer(const GemmArgs& g) {
  const std::int64_t grain = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(kChunkFlops / (1 + flops(g) / static_cast<double>(g.m))));
  const auto rows = [&](std::int64_t begin, std::int64_t end) { gemm_integer_rows(g, begin, end); };
  if (flops(g) < kForkFlops) return rows(0, g.m);
  const ThreadLimit limit(g.threads > 0 ? g.threads : WorkerPool::kMaxThreads);
  WorkerPool::global().parallel_for_range(g.m, grain, rows);
}

template <class How>
void run_half(const How& how, const GemmArgs& g, std::int64_t batch) {
  if (g.c_dtype == DType::f32) {
    Product<How, float>(how, g, batch).run();
  } else {
    Product<How, typename How::Source>(how, g, batch).run();
  }
}

// Tiles of which much is zero cost as much as whole ones.
bool fits_amx(const GemmArgs& g) { return !g.by_row && g.m >= 8 && g.n >= 16 && g.k >= 16; }

void run_bf16(const GemmArgs& g, std::int64_t batch) {
  const Bf16Gemm* const tiles = fits_amx(g) ? amx_gemm() : nullptr;
  const Bf16Gemm* const pairs = tiles != nullptr ? tiles : bf16_gemm();
  if (pairs != nullptr) return run_half(Bf16Pairs{pairs}, g, batch);
  run_half(Converted<bfloat16>(), g, batch);
}

constexpr double kNothing = 0;

// A and B may have no elements and null pointers, to which nothing may be added.
GemmArgs of_nothing(const GemmArgs& g) {
  GemmArgs empty = g;
  empty.a = empty.b = &kNothing;
  empty.a_row_stride = empty.a_col_stride = empty.b_row_stride = empty.b_col_stride = 0;
  return empty;
}

void run_one(const GemmArgs& g, std::int64_t batch) {
  if (g.k == 0 && g.a != &kNothing) return run_one(of_nothing(g), batch);
  switch (g.dtype) {
    case DType::f32:
      return Product<Converted<float>, float>({}, g, batch).run();
    case DType::f64:
      return Product<Doubles, double>({}, g, batch).run();
    case DType::f16:
      return run_half(Converted<float16>(), g, batch);
    case DType::bf16:
      return run_bf16(g, batch);
    default:
      return run_integer(g);
  }
}

void check(const GemmArgs& g) {
  if (g.m < 0 || g.n < 0 || g.k < 0) {
    throw Error(ErrorCode::shape, "matmul: negative extent; got m=" + std::to_string(g.m) +
                                      " n=" + std::to_string(g.n) + " k=" + std::to_string(g.k));
  }
  const bool half = g.dtype == DType::f16 || g.dtype == DType::bf16;
  if (is_bool(g.dtype) || (g.c_dtype != g.dtype && !(half && g.c_dtype == DType::f32))) {
    throw Error(ErrorCode::dtype, "matmul: cannot multiply " + std::string(name(g.dtype)) +
                                      " into " + std::string(name(g.c_dtype)));
  }
}

}  // namespace

void gemm(const GemmArgs& args, const GemmBatch& batch) {
  check(args);
  if (args.m == 0 || args.n == 0) return;
  for_products(args, batch, run_one);
}

void gemm_f16_weights(const GemmArgs& args) {
  check(args);
  if (args.m == 0 || args.n == 0) return;
  Product<Float16Weights, float>({}, args.k == 0 ? of_nothing(args) : args, 0).run();
}

void gemm_bf16(const Bf16Gemm& how, const GemmArgs& args, const GemmBatch& batch) {
  check(args);
  if (args.m == 0 || args.n == 0) return;
  for_products(args, batch, [&](const GemmArgs& g, std::int64_t item) {
    run_half(Bf16Pairs{&how}, g.k == 0 ? of_nothing(g) : g, item);
  });
}

}  // namespace hearth::cpu
