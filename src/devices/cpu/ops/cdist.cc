// cdist: y[i, j] = (sum over k of |a[i, k] - b[j, k]|^p)^(1/p) for p = 1 and 2, or the largest.
//
// A task makes a block of results by slices of kSlice columns: a slice of rows of b is packed
// column by column, and rows of a go over it, six at a time. Sums of slices are added to those
// before, so that errors grow slowly with the number of columns. Bound by arithmetic: a difference
// and a multiplication with addition for each element, where a product has the latter alone.
// Differences are exact where points are near, which those of products are not.
//
// 16-bit floats, p = 2: products x . y and the squares of lengths, in f32, where points are not
// near; the others are taken from differences. What is near is so far that an error of f32 in the
// squares is none in 16 bits: the square of a distance has at least kNear of the squares of the two
// lengths, so an error of 2^-18 of these, that of chains of kLongestProduct terms as a rule, is
// 2^-13 of the distance.
#include <algorithm>
#include <cmath>

#include "core/integer_math.h"
#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/rows/row_distances.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

constexpr float kNear = 1.0f / 64;
constexpr std::int64_t kLongestProduct = 4096, kMinPoints = 25, kMinColumns = 16;
constexpr std::int64_t kSlice = 256, kBlockRows = 32 * kDistanceRows;

// The matrix of an operand at `offset`, whose rows are read slice by slice.
template <class T>
struct Points {
  Points(const Operand& all, std::int64_t at) : operand(all), offset(at) {}
  const T* slice(std::int64_t row, std::int64_t first, std::int64_t length, T* copy) const {
    const int rank = operand.shape().rank();
    const std::int64_t at =
        offset + row * operand.stride(rank - 2) + first * operand.stride(rank - 1);
    return read_row(operand, at, operand.stride(rank - 1), length, copy);
  }
  const Operand& operand;
  std::int64_t offset;
};

// The distances of rows [row, row_end) of a and rows [column, column_end) of b, `totals` apart by
// the columns of a panel.
template <class T>
void join_block(DistanceSum sum, const Points<T>& a, std::int64_t row, std::int64_t row_end,
                const Points<T>& b, std::int64_t column, std::int64_t column_end, T* totals) {
  const RowDistances<T>& distances = row_distances<T>();
  const std::int64_t columns = distances.columns, length = a.operand.shape().back();
  T* const panel = scratch<T>(0, columns * kSlice);
  T* const copies = scratch<T>(1, kDistanceRows * kSlice);
  std::fill(panel, panel + columns * kSlice, T(0));
  std::fill(totals, totals + kBlockRows * columns, T(0));
  for (std::int64_t first = 0; first < length; first += kSlice) {
    const std::int64_t count = std::min(kSlice, length - first);
    for (std::int64_t j = column; j < column_end; ++j) {
      const T* const from = b.slice(j, first, count, copies);
      for (std::int64_t k = 0; k < count; ++k) panel[k * columns + j - column] = from[k];
    }
    for (std::int64_t i = row; i < row_end; i += kDistanceRows) {
      const T* rows[kDistanceRows];
      for (std::int64_t u = 0; u < kDistanceRows; ++u) {
        rows[u] = i + u < row_end ? a.slice(i + u, first, count, copies + u * kSlice) : rows[0];
      }
      distances.join(sum, rows, panel, count, totals + (i - row) * columns);
    }
  }
}

template <class T>
void launch_typed(const Launch& launch, DistanceSum sum) {
  const Operand a = input_of(launch, 0), b = input_of(launch, 1), output = output_of(launch);
  const std::int64_t columns = row_distances<T>().columns;
  const int rank = a.shape().rank();
  const std::int64_t m = a.shape()[rank - 2], n = b.shape()[rank - 2], length = a.shape().back();
  const OffsetMap a_batch(a.shape(), a.strides(), 0, rank - 2);
  const OffsetMap b_batch(b.shape(), b.strides(), 0, rank - 2);
  const std::int64_t panels = ceil_div(n, columns);
  const std::int64_t blocks = ceil_div(m, kBlockRows);
  const std::int64_t cost = std::min(m, kBlockRows) * columns * (length / 8 + 1);
  for_chunks(a_batch.count() * panels * blocks, cost, [&](std::int64_t begin, std::int64_t end) {
    T* const totals = scratch<T>(2, kBlockRows * columns);
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t batch = task / (panels * blocks);
      const std::int64_t row = task / panels % blocks * kBlockRows;
      const std::int64_t column = task % panels * columns;
      const std::int64_t row_end = std::min(m, row + kBlockRows);
      const std::int64_t column_end = std::min(n, column + columns);
      join_block<T>(sum, Points<T>(a, a_batch.at(batch)), row, row_end,
                    Points<T>(b, b_batch.at(batch)), column, column_end, totals);
      if (sum == DistanceSum::squares) {
        for (std::int64_t i = 0; i < (row_end - row) * columns; ++i) {
          totals[i] = std::sqrt(totals[i]);
        }
      }
      for (std::int64_t i = row; i < row_end; ++i) {
        store_row(output.dtype(), totals + (i - row) * columns, column_end - column,
                  output.at((batch * m + i) * n + column));
      }
    }
  });
}

// The distances of one matrix of points to another, from their products.
class FromProducts {
 public:
  FromProducts(const Points<float>& a, const float* a_squares, const Points<float>& b,
               const float* b_squares)
      : a_(a), b_(b), a_squares_(a_squares), b_squares_(b_squares) {}

  static void apply(void* context, void* tile, std::int64_t stride, std::int64_t /*batch*/,
                    std::int64_t row, std::int64_t column, std::int64_t rows,
                    std::int64_t columns) {
    const auto& self = *static_cast<const FromProducts*>(context);
    const std::int64_t panel = row_distances<float>().columns;
    for (std::int64_t i = 0; i < rows; i += kBlockRows) {
      for (std::int64_t j = 0; j < columns; j += panel) {
        self.finish(static_cast<float*>(tile) + i * stride + j, stride, row + i, column + j,
                    std::min(kBlockRows, rows - i), std::min(panel, columns - j));
      }
    }
  }

 private:
  // Pairs of which at most one of kFewNear is near are put right one by one, others together: with
  // the same sums, since where a block begins depends on the number of threads.
  static constexpr std::int64_t kFewNear = 512;

  void finish(float* tile, std::int64_t stride, std::int64_t row, std::int64_t column,
              std::int64_t rows, std::int64_t columns) const {
    std::int64_t near = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      float* const line = tile + i * stride;
      if (row_distances<float>().from_products(a_squares_[row + i], b_squares_ + column, kNear,
                                               columns, line)) {
        near += std::count(line, line + columns, -1.0f);
      }
    }
    if (near * kFewNear > rows * columns) {
      const std::int64_t panel = row_distances<float>().columns;
      float* const totals = scratch<float>(2, kBlockRows * panel);
      join_block<float>(DistanceSum::squares, a_, row, row + rows, b_, column, column + columns,
                        totals);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          float& distance = tile[i * stride + j];
          if (distance == -1.0f) distance = std::sqrt(totals[i * panel + j]);
        }
      }
      return;
    }
    for (std::int64_t i = 0; i < rows && near > 0; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        if (tile[i * stride + j] != -1.0f) continue;
        tile[i * stride + j] = exact(row + i, column + j);
        --near;
      }
    }
  }

  float exact(std::int64_t i, std::int64_t j) const {
    float* const totals = scratch<float>(2, kBlockRows * row_distances<float>().columns);
    join_block<float>(DistanceSum::squares, a_, i, i + 1, b_, j, j + 1, totals);
    return std::sqrt(totals[0]);
  }

  const Points<float>& a_;
  const Points<float>& b_;
  const float* a_squares_;
  const float* b_squares_;
};

void squares_of(const Points<float>& points, std::int64_t rows, float* squares) {
  const std::int64_t length = points.operand.shape().back();
  for_chunks(rows, length, [&](std::int64_t begin, std::int64_t end) {
    float* const copy = scratch<float>(3, length);
    for (std::int64_t i = begin; i < end; ++i) {
      const float* const x = points.slice(i, 0, length, copy);
      squares[i] = row_math<float>().dot(x, x, length);
    }
  });
}

bool goes_by_products(const Launch& launch) {
  const Operand a = input_of(launch, 0), b = input_of(launch, 1);
  const int rank = a.shape().rank();
  const std::int64_t length = a.shape().back();
  return size_of(a.dtype()) == 2 && a.dtype() == b.dtype() &&
         output_of(launch).dtype() == a.dtype() &&
         std::min(a.shape()[rank - 2], b.shape()[rank - 2]) >= kMinPoints &&
         length >= kMinColumns && length <= kLongestProduct;
}

void launch_products(const Launch& launch) {
  const Operand a = input_of(launch, 0), b = input_of(launch, 1), output = output_of(launch);
  const int rank = a.shape().rank();
  const std::int64_t m = a.shape()[rank - 2], n = b.shape()[rank - 2];
  const OffsetMap a_batch(a.shape(), a.strides(), 0, rank - 2);
  const OffsetMap b_batch(b.shape(), b.strides(), 0, rank - 2);
  float *const a_squares = scratch<float>(8, m), *const b_squares = scratch<float>(9, n);
  for (std::int64_t batch = 0; batch < a_batch.count(); ++batch) {
    const Points<float> x(a, a_batch.at(batch)), y(b, b_batch.at(batch));
    squares_of(x, m, a_squares);
    squares_of(y, n, b_squares);
    FromProducts finish(x, a_squares, y, b_squares);
    GemmArgs args;
    args.m = m;
    args.n = n;
    args.k = a.shape().back();
    args.a = a.at(x.offset);
    args.a_row_stride = a.stride(rank - 2);
    args.a_col_stride = a.stride(rank - 1);
    args.b = b.at(y.offset);
    args.b_row_stride = b.stride(rank - 1);
    args.b_col_stride = b.stride(rank - 2);
    args.c = output.at(batch * m * n);
    args.c_row_stride = n;
    args.dtype = args.c_dtype = a.dtype();
    args.epilogue = {FromProducts::apply, &finish};
    gemm(args);
  }
}

void launch_cdist(const Launch& launch) {
  if (statics_of(launch).f64() == 2 && goes_by_products(launch)) return launch_products(launch);
  const double p = statics_of(launch).f64();
  const DistanceSum sum = p == 2   ? DistanceSum::squares
                          : p == 1 ? DistanceSum::magnitudes
                                   : DistanceSum::largest;
  with_compute_type(output_of(launch).dtype(), [&]<class T>() { launch_typed<T>(launch, sum); });
}

bool accepts_cdist(const Signature& signature) {
  const double p = ParamReader(signature.statics).f64();
  return p == 1 || p == 2 || std::isinf(p);
}

constexpr Implementation kCdistFamily[] = {
    {.name = "panels", .op = &defs::cdist_op, .accepts = accepts_cdist, .launch = launch_cdist},
};

}  // namespace

Family cdist_family() { return kCdistFamily; }

}  // namespace hearth::cpu
