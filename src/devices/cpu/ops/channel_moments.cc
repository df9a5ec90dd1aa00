// channel_moments and channel_sums: one pass over the memory, in the order that it has.
//
// Where the positions of a channel lie together, a task has some of them, sample by sample: they
// are read, and in the L1 cache again about their mean. Else tasks have rows of all channels, one
// for each position. Blocks are added in f64, moments by the formula for the sums of squares of two
// samples (Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
// Variances", 1979), and the split depends on shapes and layouts only, so results are the same for
// any number of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/integer_math.h"
#include "core/thread_owned.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace channel_moments {
namespace {

// Elements that stay in the L1 cache; rows of channels that are added before their sum is.
constexpr std::int64_t kBlock = 4096;
constexpr std::int64_t kBlockOfRows = 128;
constexpr std::int64_t kMinPositions = 16;  // of a channel, where they are taken together

// Of moments the mean of `count` values and their squares about it, else two sums.
struct Part {
  double count = 0, first = 0, second = 0;

  template <bool kMoments>
  void add(const Part& other) {
    if (!kMoments) {
      first += other.first;
      second += other.second;
      return;
    }
    const double both = count + other.count;
    if (both == 0) return;
    const double share = other.count / both, distance = other.first - first;
    first = count == 0 ? other.first : first * (1 - share) + other.first * share;
    second += other.second + distance * distance * count * share;
    count = both;
  }
};

struct Split {
  bool together;             // the positions of a channel
  std::int64_t rows, grain;  // tasks: of samples and channels, or of positions of all samples
  std::int64_t parts;        // of all channels
  std::int64_t channels, inner;
};

template <bool kMoments>
Split split_of(const Signature& signature) {
  const Shape& shape = signature.inputs[0].shape;
  Split split{};
  split.channels = shape[1];
  split.inner = 1;
  for (int i = 2; i < shape.rank(); ++i) split.inner *= shape[i];
  split.together = split.inner >= kMinPositions;
  for (std::size_t i = 0; i < (kMoments ? 1 : 2); ++i) {
    const OffsetMap positions(shape, signature.inputs[i].strides, 2, shape.rank());
    split.together = split.together && positions.linear() && positions.stride() == 1;
  }
  if (split.together) {
    split.rows = shape[0] * split.channels;
    split.grain = std::max<std::int64_t>(1, kChunkElements / split.inner);
    split.parts = split.rows;
    return split;
  }
  constexpr std::int64_t kMaxChunks = 64;
  split.rows = shape[0] * split.inner;
  split.grain = std::max({std::int64_t{1}, kChunkElements / std::max<std::int64_t>(1, shape[1]),
                          ceil_div(split.rows, kMaxChunks)});
  split.parts = ceil_div(split.rows, split.grain) * split.channels;
  return split;
}

template <bool kMoments>
Prepared prepare(const Signature& signature) {
  return {.state = nullptr,
          .workspace_bytes =
              split_of<kMoments>(signature).parts * static_cast<std::int64_t>(sizeof(Part))};
}

// Of n values of a channel that are in a cache.
template <class T, bool kMoments>
Part part_of(const RowMath<T>& math, const T* g, const T* x, T mean, std::int64_t n) {
  const auto count = static_cast<double>(n);
  if (!kMoments) {
    T* const centred = scratch<T>(2, n);
    math.shift(x, mean, T(0), centred, n, false);
    return {count, static_cast<double>(math.sum(g, n)),
            static_cast<double>(math.dot(g, centred, n))};
  }
  const T about = math.sum(x, n) / static_cast<T>(n);
  T sums[2];
  math.deviations(x, about, n, sums);
  // What rounding took from the mean.
  const double rest = std::isfinite(sums[0]) ? static_cast<double>(sums[0]) / count : 0;
  const double squares = static_cast<double>(sums[1]) - rest * rest * count;
  return {count, static_cast<double>(about) + rest, squares < 0 ? 0 : squares};
}

template <class T, bool kMoments>
void add_together(const Operand& grad, const Operand& x, const T* mean, const Split& split,
                  Part* parts) {
  const OffsetMap rows(x.shape(), x.strides(), 0, 2);
  const OffsetMap grad_rows(grad.shape(), grad.strides(), 0, 2);
  const RowMath<T>& math = row_math<T>();
  for_chunks(split.rows, split.inner, [&](std::int64_t begin, std::int64_t end) {
    T* const copy = scratch<T>(0, kBlock);
    T* const grad_copy = scratch<T>(1, kBlock);
    for (std::int64_t row = begin; row < end; ++row) {
      Part part;
      for (std::int64_t at = 0; at < split.inner; at += kBlock) {
        const std::int64_t n = std::min(kBlock, split.inner - at);
        const T* const values = read_row(x, rows.at(row) + at, 1, n, copy);
        const T* const grads =
            kMoments ? values : read_row(grad, grad_rows.at(row) + at, 1, n, grad_copy);
        const T about = kMoments ? T(0) : mean[row % split.channels];
        part.add<kMoments>(part_of<T, kMoments>(math, grads, values, about, n));
      }
      parts[row] = part;
    }
  });
}

// Positions of all samples: the axes but that of channels.
OffsetMap positions_of(const Operand& x) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.erase(1);
  strides.erase(1);
  return {shape, strides, 0, shape.rank()};
}

// Some of an operand's rows of channels in compute precision: where they lie, if those are evenly
// apart, else in `copy`.
template <class T>
struct Rows {
  Rows(const Operand& operand, const OffsetMap& rows, std::int64_t begin, std::int64_t count,
       T* copy) {
    const std::int64_t n = operand.shape()[1], step = n > 1 ? operand.stride(1) : 1;
    if (rows.linear() && step == 1 && operand.dtype() == dtype_of_v<T>) {
      first = reinterpret_cast<const T*>(operand.at(rows.at(begin)));
      stride = rows.stride();
      return;
    }
    first = copy;
    stride = n;
    if (rows.linear() && step == 1 && rows.stride() == n) {
      load_row(operand.dtype(), operand.at(rows.at(begin)), 1, count * n, copy);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      load_row(operand.dtype(), operand.at(rows.at(begin + i)), step, n, copy + i * n);
    }
  }

  const T* first;
  std::int64_t stride;
};

std::vector<Part>& sums_of_chunk() { return ThreadOwned<std::vector<Part>>::get(); }

// Moments are about the first row, from the second block on about the mean of the first block.
template <class T, bool kMoments>
void add_rows(const Operand& grad, const Operand& x, const T* mean, const Split& split,
              Part* parts) {
  const OffsetMap rows = positions_of(x), grad_rows = positions_of(grad);
  const RowMath<T>& math = row_math<T>();
  const std::int64_t n = split.channels;
  const std::int64_t chunks = ceil_div(split.rows, split.grain);
  const std::int64_t block =
      std::clamp<std::int64_t>(kBlock / std::max<std::int64_t>(1, n), 1, kBlockOfRows);
  WorkerPool::global().parallel_for(chunks, [&](std::int64_t chunk) {
    T *const copy = scratch<T>(0, block * n), *const grad_copy = scratch<T>(1, block * n);
    T *const own_about = scratch<T>(3, n), *const sums = scratch<T>(4, n);
    T* const products = scratch<T>(5, n);
    std::int64_t since = 0;  // rows that `sum` is of, about `own_about`
    std::vector<Part>& sum = sums_of_chunk();
    Part* const own = parts + chunk * n;
    std::fill_n(own, n, Part());
    const auto join = [&] {
      for (std::int64_t c = 0; c < n && since > 0; ++c) {
        Part part = sum[static_cast<std::size_t>(c)];
        part.count = static_cast<double>(since);
        if (kMoments) {
          const double rest = part.first / part.count, squares = part.second - part.first * rest;
          part.first = static_cast<double>(own_about[c]) + rest;
          part.second = squares < 0 ? 0 : squares;
        }
        own[c].add<kMoments>(part);
      }
      sum.assign(static_cast<std::size_t>(n), Part());
      since = 0;
    };
    join();
    const std::int64_t first = chunk * split.grain,
                       last = std::min(split.rows, first + split.grain);
    for (std::int64_t begin = first; begin < last; begin += block) {
      const std::int64_t count = std::min(last - begin, block);
      const Rows<T> values(x, rows, begin, count, copy);
      if (kMoments && begin <= first + block) {
        join();
        for (std::int64_t c = 0; c < n; ++c) {
          const T about = begin == first ? values.first[c] : static_cast<T>(own[c].first);
          own_about[c] = std::isfinite(about) ? about : 0;
        }
      }
      if (kMoments) {
        math.moment_rows(values.first, values.stride, count, own_about, sums, products, n);
      } else {
        const Rows<T> grads(grad, grad_rows, begin, count, grad_copy);
        math.product_rows(grads.first, grads.stride, values.first, values.stride, count, mean, sums,
                          products, n);
      }
      for (std::int64_t c = 0; c < n; ++c) {
        Part& part = sum[static_cast<std::size_t>(c)];
        part.first += static_cast<double>(sums[c]);
        part.second += static_cast<double>(products[c]);
      }
      since += count;
    }
    join();
  });
}

template <bool kMoments>
void run(const Launch& launch) {
  const Operand grad = input_of(launch, 0), x = input_of(launch, kMoments ? 0 : 1);
  const Split split = split_of<kMoments>(*launch.signature);
  const Operand outputs[2] = {output_of(launch, 0), output_of(launch, 1)};
  auto* const parts = reinterpret_cast<Part*>(launch.workspace);
  const std::int64_t n = split.channels;
  with_compute_type(x.dtype(), [&]<class T>() {
    const T* mean = nullptr;
    if (!kMoments) {
      const Operand vector = input_of(launch, 2);
      mean = read_row(vector, 0, n > 1 ? vector.stride(0) : 1, n, scratch<T>(8, n));
    }
    if (split.together) {
      add_together<T, kMoments>(grad, x, mean, split, parts);
    } else {
      add_rows<T, kMoments>(grad, x, mean, split, parts);
    }
    for (std::int64_t c = 0; c < n; ++c) {
      Part whole;
      for (std::int64_t i = c; i < split.parts; i += n) whole.add<kMoments>(parts[i]);
      const bool has_mean = !kMoments || whole.count > 0;
      reinterpret_cast<T*>(outputs[0].data)[c] =
          has_mean ? static_cast<T>(whole.first) : std::numeric_limits<T>::quiet_NaN();
      reinterpret_cast<T*>(outputs[1].data)[c] =
          static_cast<T>(kMoments ? whole.second / whole.count : whole.second);
    }
  });
}

constexpr Implementation kFamily[] = {
    {.name = "rows",
     .op = &defs::channel_moments_op,
     .prepare = prepare<true>,
     .launch = run<true>},
    {.name = "rows", .op = &defs::channel_sums_op, .prepare = prepare<false>, .launch = run<false>},
};

}  // namespace
}  // namespace channel_moments

Family channel_moments_family() { return channel_moments::kFamily; }

}  // namespace hearth::cpu
