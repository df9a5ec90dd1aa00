// Rotary position embedding: the pair i of a row turns by the angle position * frequency[i].
//
//   y0 = x0 cos - x1 sin,   y1 = x1 cos + x0 sin
//
// The pair is (x[i], x[i + dims/2]), or (x[2i], x[2i + 1]) when interleaved; columns from dims on
// stay. Angles are multiplied in f64; sine and cosine of position 32 a + b are put together from
// those of 32 a and of b by a complex product in f64, so that a table of n rows in a row costs n /
// 32 + 32 rows of sines. Bound by memory.
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/thread_owned.h"
#include "devices/cpu/ops/elements.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/attention/rope_settings.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// The angle of each pair of each row, in words: frequencies, and a position for each section.
struct Angles {
  std::vector<double> frequency;         // of each pair
  std::vector<std::uint8_t> section_of;  // of each pair
  std::vector<std::int64_t> positions;   // [rows][sections]
  std::int64_t sections = 1;
  double magnitude = 1;

  std::int64_t pairs() const { return std::ssize(frequency); }
  std::int64_t rows() const { return std::ssize(positions) / sections; }
  // NaN where the position is beyond the range of positions.
  double at(std::int64_t position, std::size_t pair) const {
    if (!is_rope_position(position)) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(position) * frequency[pair];
  }
  bool operator==(const Angles&) const = default;
};

// Cosines and sines [rows][pairs].
template <class T>
class AngleTable {
 public:
  void fill(Angles&& angles) {
    if (angles == angles_) return;
    angles_ = std::move(angles);
    const std::int64_t pairs = angles_.pairs(), rows = angles_.rows();
    cosines_.resize(static_cast<std::size_t>(rows * pairs));
    sines_.resize(cosines_.size());
    if (rows < kFewRows) {
      fill_few();
    } else {
      fill_many();
    }
  }
  // What the last fill() was asked for.
  const Angles& angles() const { return angles_; }
  const T* cosines() const { return cosines_.data(); }
  const T* sines() const { return sines_.data(); }

 private:
  static constexpr std::int64_t kBlock = 32, kFewRows = 4;

  void put(std::int64_t row, std::int64_t pair, double cosine, double sine) {
    const auto at = static_cast<std::size_t>(row * angles_.pairs() + pair);
    cosines_[at] = static_cast<T>(cosine * angles_.magnitude);
    sines_[at] = static_cast<T>(sine * angles_.magnitude);
  }

  void fill_few() {
    for (std::int64_t row = 0; row < angles_.rows(); ++row) {
      for (std::int64_t i = 0; i < angles_.pairs(); ++i) {
        const auto pair = static_cast<std::size_t>(i);
        const std::size_t at =
            static_cast<std::size_t>(row * angles_.sections) + angles_.section_of[pair];
        const double angle = angles_.at(angles_.positions[at], pair);
        put(row, i, std::cos(angle), std::sin(angle));
      }
    }
  }

  // Sines of all pairs of a section at `position`, to out[pair] and out[pairs + pair].
  void sines_of(std::int64_t section, std::int64_t position, double* out) const {
    const std::size_t pairs = angles_.frequency.size();
    for (std::size_t i = 0; i < pairs; ++i) {
      if (angles_.section_of[i] != section) continue;
      const double angle = angles_.at(position, i);
      out[i] = std::cos(angle);
      out[pairs + i] = std::sin(angle);
    }
  }

  void fill_many() {
    const std::int64_t pairs = angles_.pairs(), sections = angles_.sections;
    std::vector<double> low(static_cast<std::size_t>(2 * kBlock * pairs));
    std::vector<double> high(static_cast<std::size_t>(2 * pairs));
    for (std::int64_t s = 0; s < sections; ++s) {
      bool has_low[kBlock] = {}, has_high = false;
      std::int64_t held = 0;
      for (std::int64_t row = 0; row < angles_.rows(); ++row) {
        const std::int64_t position =
            angles_.positions[static_cast<std::size_t>(row * sections + s)];
        const std::int64_t rest = position & (kBlock - 1), block = position - rest;
        double* const near = &low[static_cast<std::size_t>(2 * rest * pairs)];
        if (!has_low[rest]) sines_of(s, rest, near);
        has_low[rest] = true;
        if (!has_high || held != block) sines_of(s, block, high.data());
        has_high = true;
        held = block;
        const double* const c1 = high.data();
        const double* const s1 = c1 + pairs;
        const double* const s2 = near + pairs;
        for (std::int64_t i = 0; i < pairs; ++i) {
          if (sections > 1 && angles_.section_of[static_cast<std::size_t>(i)] != s) continue;
          put(row, i, c1[i] * near[i] - s1[i] * s2[i], s1[i] * near[i] + c1[i] * s2[i]);
        }
      }
    }
  }

  Angles angles_;
  std::vector<T> cosines_, sines_;
};

struct KnownFrequencies {
  double base = 0;
  std::vector<double> made;
};

std::vector<double> frequencies_of(const Launch& launch, const RopeSettings& s,
                                   std::int64_t pairs) {
  std::vector<double> frequency(static_cast<std::size_t>(pairs));
  if (!has_input(launch, 2)) {
    // Layers of a model ask for the same ones.
    auto& [base, made] = ThreadOwned<KnownFrequencies>::get();
    if (base != s.base || std::ssize(made) != pairs) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        frequency[static_cast<std::size_t>(i)] =
            std::pow(s.base, -static_cast<double>(i) / static_cast<double>(pairs));
      }
      base = s.base;
      made = frequency;
    }
    return made;
  }
  const Operand given = input_of(launch, 2);
  const int rank = given.shape().rank();
  for (std::int64_t part = 0; part < (rank == 2 ? 2 : 1); ++part) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const std::int64_t at = i * given.stride(rank - 1) + (rank == 2 ? part * given.stride(0) : 0);
      frequency[static_cast<std::size_t>(i)] +=
          static_cast<double>(*reinterpret_cast<const float*>(given.at(at)));
    }
  }
  return frequency;
}

// The positions of all rows whose angles may differ, and the offset among them.
std::vector<std::int64_t> positions_of(const Launch& launch, const RopeSettings& s,
                                       std::int64_t rows) {
  std::vector<std::int64_t> positions;
  const auto moved = [&s](std::int64_t position) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(position) +
                                     static_cast<std::uint64_t>(s.offset));
  };
  if (!has_input(launch, 1)) {
    for (std::int64_t row = 0; row < rows; ++row) positions.push_back(moved(row));
    return positions;
  }
  const Operand given = input_of(launch, 1);
  const int rank = given.shape().rank(), front = s.sections.empty() ? 0 : 1;
  const bool batched = rank - front == 2;
  for (std::int64_t item = 0; item < (batched ? given.shape()[front] : 1); ++item) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t section = 0; section < s.section_count(); ++section) {
        const std::int64_t at = (front == 0 ? 0 : section * given.stride(0)) +
                                (batched ? item * given.stride(front) : 0) +
                                row * given.stride(rank - 1);
        positions.push_back(moved(index_at(given, at)));
      }
    }
  }
  return positions;
}

template <class T>
void rope(const Launch& launch) {
  const Operand input = input_of(launch, 0), output = output_of(launch);
  RopeSettings s = RopeSettings::of(statics_of(launch));
  s.offset = dynamic_i64(dynamic_of(launch, 0));
  const int rank = input.shape().rank();
  const std::int64_t n = input.shape()[rank - 1], seq = input.shape()[rank - 2];
  const std::int64_t pairs = s.pairs(n);
  if (element_count(input.shape()) == 0) return;

  Angles angles;
  angles.frequency = frequencies_of(launch, s, pairs);
  for (std::int64_t i = 0; i < pairs; ++i) {
    angles.section_of.push_back(static_cast<std::uint8_t>(s.section_of(i)));
  }
  angles.sections = s.section_count();
  angles.positions = positions_of(launch, s, seq);
  angles.magnitude = s.magnitude;
  // Layers of a model ask for the same table one after the other.
  auto& table = ThreadOwned<AngleTable<T>>::get();
  table.fill(std::move(angles));
  const std::int64_t table_rows = table.angles().rows();
  const T* const cosines = table.cosines();
  const T* const sines = table.sines();
  const OffsetMap rows(input.shape(), input.strides(), 0, rank - 1);
  // Rows of x that share a line of positions: all, or those of an item.
  const std::int64_t item_rows = table_rows == seq ? rows.count() : rows.count() / input.shape()[0];
  const RowMath<T>& math = row_math<T>();
  for_chunks(rows.count(), n, [&](std::int64_t first, std::int64_t last) {
    T* const copy = scratch<T>(0, n);
    T* const result = scratch<T>(1, n);
    for (std::int64_t row = first; row < last; ++row) {
      const T* const x = read_row(input, rows.at(row), input.stride(rank - 1), n, copy);
      const std::int64_t line = row / item_rows * seq + row % seq;
      const T* const cosine = cosines + line * pairs;
      const T* const sine = sines + line * pairs;
      T* const y = row_to_write(output, row * n, result);
      if (s.interleaved) {
        for (std::int64_t i = 0; i < pairs; ++i) {
          const T a = x[2 * i], b = x[2 * i + 1], own = s.inverse ? -sine[i] : sine[i];
          y[2 * i] = a * cosine[i] - b * own;
          y[2 * i + 1] = b * cosine[i] + a * own;
        }
      } else if (s.inverse) {  // the other way round is the same turn with the halves exchanged
        math.rotate(x + pairs, x, cosine, sine, y + pairs, y, pairs);
      } else {
        math.rotate(x, x + pairs, cosine, sine, y, y + pairs, pairs);
      }
      std::copy(x + 2 * pairs, x + n, y + 2 * pairs);
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
