// Rotary position embedding: the pair i of row s turns by the angle (offset + s) * base^(-2i /
// dim).
//
//   y0 = x0 cos - x1 sin,   y1 = x1 cos + x0 sin
//
// The pair is (x[i], x[i + dim/2]), or (x[2i], x[2i + 1]) when interleaved. Angles are multiplied
// in f64; sine and cosine of position 32 a + b are put together from those of 32 a and of b by a
// complex product in f64, so that a table of n rows costs n / 32 + 32 rows of sines. Bound by
// memory.
#include <cmath>
#include <vector>

#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Cosines and sines [rows][pairs] from position `offset` on.
template <class T>
class AngleTable {
 public:
  void fill(double base, std::int64_t pairs, std::int64_t offset, std::int64_t rows) {
    if (base == base_ && pairs == pairs_ && offset == offset_ && rows <= rows_) return;
    base_ = base;
    pairs_ = pairs;
    offset_ = offset;
    rows_ = rows;
    const auto size = static_cast<std::size_t>(rows * pairs);
    cosines_.resize(size);
    sines_.resize(size);
    std::vector<double> frequency(static_cast<std::size_t>(pairs));
    for (std::int64_t i = 0; i < pairs; ++i) {
      frequency[static_cast<std::size_t>(i)] =
          std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
    }
    constexpr std::int64_t kBlock = 32;
    std::vector<double> low(static_cast<std::size_t>(2 * std::min(kBlock, rows) * pairs));
    for (std::int64_t b = 0; b < std::min(kBlock, rows); ++b)
      turn(frequency, b, &low[static_cast<std::size_t>(2 * b * pairs)]);
    std::vector<double> high(static_cast<std::size_t>(2 * pairs));
    for (std::int64_t begin = 0; begin < rows; begin += kBlock) {
      turn(frequency, offset + begin, high.data());
      for (std::int64_t row = begin; row < std::min(rows, begin + kBlock); ++row) {
        const double* const c1 = high.data();
        const double* const s1 = c1 + pairs;
        const double* const c2 = &low[static_cast<std::size_t>(2 * (row - begin) * pairs)];
        const double* const s2 = c2 + pairs;
        T* const c = &cosines_[static_cast<std::size_t>(row * pairs)];
        T* const s = &sines_[static_cast<std::size_t>(row * pairs)];
        for (std::int64_t i = 0; i < pairs; ++i) {
          c[i] = static_cast<T>(c1[i] * c2[i] - s1[i] * s2[i]);
          s[i] = static_cast<T>(s1[i] * c2[i] + c1[i] * s2[i]);
        }
      }
    }
  }
  const T* cosines() const { return cosines_.data(); }
  const T* sines() const { return sines_.data(); }

 private:
  static void turn(const std::vector<double>& frequency, std::int64_t position, double* out) {
    const std::size_t pairs = frequency.size();
    for (std::size_t i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(position) * frequency[i];
      out[i] = std::cos(angle);
      out[pairs + i] = std::sin(angle);
    }
  }

  double base_ = 0;
  std::int64_t pairs_ = -1, offset_ = 0, rows_ = 0;
  std::vector<T> cosines_, sines_;
};

template <class T>
void rope(const Launch& launch) {
  const Operand input = input_of(launch, 0), output = output_of(launch);
  ParamReader statics = statics_of(launch);
  const double base = statics.f64();
  const bool interleaved = statics.boolean(), inverse = statics.boolean();
  const std::int64_t offset = dynamic_i64(dynamic_of(launch, 0));
  const int rank = input.shape().rank();
  const std::int64_t n = input.shape()[rank - 1], seq = input.shape()[rank - 2], pairs = n / 2;
  if (element_count(input.shape()) == 0) return;

  // Layers of a model ask for the same table one after the other.
  thread_local AngleTable<T> table;
  table.fill(base, pairs, offset, seq);
  const T* const cosines = table.cosines();
  const T* const sines = table.sines();
  const OffsetMap rows(input.shape(), input.strides(), 0, rank - 1);
  const RowMath<T>& math = row_math<T>();
  for_chunks(rows.count(), n, [&](std::int64_t first, std::int64_t last) {
    T* const copy = scratch<T>(0, n);
    T* const result = scratch<T>(1, n);
    for (std::int64_t row = first; row < last; ++row) {
      const T* const x = read_row(input, rows.at(row), input.stride(rank - 1), n, copy);
      const T* const c = cosines + row % seq * pairs;
      const T* const s = sines + row % seq * pairs;
      T* const y = row_to_write(output, row * n, result);
      if (interleaved) {
        for (std::int64_t i = 0; i < pairs; ++i) {
          const T a = x[2 * i], b = x[2 * i + 1], sine = inverse ? -s[i] : s[i];
          y[2 * i] = a * c[i] - b * sine;
          y[2 * i + 1] = b * c[i] + a * sine;
        }
      } else if (inverse) {  // the other way round is the same turn with the halves exchanged
        math.rotate(x + pairs, x, c, s, y + pairs, y, pairs);
      } else {
        math.rotate(x, x + pairs, c, s, y, y + pairs, pairs);
      }
      write_row(output, row * n, y, n);
    }
  });
}

void launch_rope(const Launch& launch) {
  with_compute_type(launch.signature->output.dtype, [&]<class T>() { rope<T>(launch); });
}

constexpr Implementation kImplementations[] = {
    {.name = "pairs", .op = &defs::rope_op, .launch = launch_rope},
};

}  // namespace

Family rope_family() { return kImplementations; }

}  // namespace hearth::cpu
