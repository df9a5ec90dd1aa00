// Random tensors from Philox counters (core/philox.h says what the values are), and arange.
//
// Every element depends on its index alone, so any split over threads gives the same tensor. Words
// are made by vector code a few thousand at a time and turned into values while in the L1 cache.
#include <bit>
#include <cmath>
#include <type_traits>

#include "core/integer_math.h"
#include "core/philox.h"
#include "devices/cpu/ops/elements.h"
#include "devices/cpu/regions/tile_table.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Calls fill(words, first element, count) for runs that begin at a multiple of four elements;
// words[0] is the first word of the first element.
template <class Fill>
void draw(const Launch& launch, int words_per_element, Fill fill) {
  constexpr std::int64_t kChunk = 2048;
  const std::int64_t count = element_count(launch.signature->output.shape);
  const std::uint64_t seed = dynamic_of(launch, 0), counter = dynamic_of(launch, 1);
  const std::int64_t per_block = 4 / words_per_element;
  const std::int64_t chunks = ceil_div(count, kChunk);
  for_chunks(chunks, 2 * kChunk, [&](std::int64_t first, std::int64_t last) {
    std::uint32_t* const words = scratch<std::uint32_t>(0, kChunk * 2);
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      const std::int64_t begin = chunk * kChunk, n = std::min(kChunk, count - begin);
      philox_words(seed, counter, static_cast<std::uint64_t>(begin / per_block),
                   ceil_div(n, per_block), words);
      fill(words, begin, n);
    }
  });
}

std::uint64_t pair_at(const std::uint32_t* words, std::int64_t i) {
  return philox_pair(words[2 * i], words[2 * i + 1]);
}

// Calls run with the C++ type of the output's elements.
template <class Run>
void with_output(const Launch& launch, Run run) {
  with_element_type(launch.signature->output.dtype, [&]<class E>() {
    run.template operator()<E>(reinterpret_cast<E*>(launch.output()));
  });
}

// A number as an element: floats round, the rest is exact.
template <class E, class V>
E element(V value) {
  if constexpr (std::is_arithmetic_v<E>) {
    return static_cast<E>(value);
  } else {
    return E(static_cast<float>(value));
  }
}

template <class E>
constexpr bool kIsHalf = std::is_same_v<E, float16> || std::is_same_v<E, bfloat16>;

void launch_bits(const Launch& launch) {
  with_output(launch, [&]<class E>(E* out) {
    if constexpr (std::is_integral_v<E> && sizeof(E) == 8) {
      draw(launch, 2, [=](const std::uint32_t* words, std::int64_t begin, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[begin + i] = static_cast<E>(pair_at(words, i));
      });
    } else if constexpr (std::is_integral_v<E>) {
      draw(launch, 1, [=](const std::uint32_t* words, std::int64_t begin, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[begin + i] = static_cast<E>(words[i]);
      });
    }
  });
}

// The next smaller value of a half type.
template <class E>
E previous(E value) {
  if ((value.bits & 0x7fffu) == 0) {
    value.bits = 0x8001u;
  } else {
    value.bits =
        static_cast<std::uint16_t>((value.bits & 0x8000u) != 0 ? value.bits + 1 : value.bits - 1);
  }
  return value;
}

void launch_uniform(const Launch& launch) {
  const double lo = dynamic_f64(dynamic_of(launch, 2)), hi = dynamic_f64(dynamic_of(launch, 3));
  with_output(launch, [&]<class E>(E* out) {
    if constexpr (std::is_same_v<E, double>) {
      draw(launch, 2, [=](const std::uint32_t* words, std::int64_t begin, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
          out[begin + i] = philox_uniform(philox_unit(pair_at(words, i)), lo, hi);
        }
      });
      return;
    }
    const auto low = static_cast<float>(lo), high = static_cast<float>(hi), range = high - low;
    const float below = std::max(low, std::nextafter(high, low));
    draw(launch, 1, [=](const std::uint32_t* words, std::int64_t begin, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        const float value = low + philox_unit(words[i]) * range;  // philox_uniform() unrolled
        const float bounded = value < high ? value : below;
        if constexpr (kIsHalf<E>) {
          const E half(bounded);
          out[begin + i] = static_cast<float>(half) < high || !(low < high) ? half : previous(half);
        } else {
          out[begin + i] = element<E>(bounded);
        }
      }
    });
  });
}

// to[i] = the op of from[i].
template <class T>
void apply(TileOp op, T* from, T* to, std::int64_t n) {
  constexpr auto kClass = static_cast<int>(compute_class(dtype_of_v<T>));
  std::byte* const slots[] = {reinterpret_cast<std::byte*>(from), reinterpret_cast<std::byte*>(to)};
  TileStep step{};
  step.target = 1;
  step.function = tile_table().op[static_cast<int>(op)][kClass][0];
  step.function(step, slots, n);
}

// philox_normal() of many pairs, with the logarithm, sine and cosine that programs have.
void launch_normal(const Launch& launch) {
  const double mean = dynamic_f64(dynamic_of(launch, 2)),
               deviation = dynamic_f64(dynamic_of(launch, 3));
  const Operand output = output_of(launch);
  with_compute_type(output.dtype(), [&]<class T>() {
    constexpr auto kTwoPi = static_cast<T>(6.2831853071795864769);
    constexpr int kWords = sizeof(T) / sizeof(std::uint32_t);
    const auto m = static_cast<T>(mean), s = static_cast<T>(deviation);
    draw(launch, kWords, [=](const std::uint32_t* words, std::int64_t begin, std::int64_t n) {
      const std::int64_t pairs = (n + 1) / 2;
      T* const radii = scratch<T>(1, 6 * pairs);
      T* const angles = radii + pairs;
      T* const cosines = angles + pairs;
      T* const sines = cosines + pairs;
      T* const row = sines + pairs;
      for (std::int64_t p = 0; p < pairs; ++p) {
        if constexpr (kWords == 2) {
          radii[p] = static_cast<double>((pair_at(words, 2 * p) >> 11) + 1) * 0x1p-53;
          angles[p] = kTwoPi * philox_unit(pair_at(words, 2 * p + 1));
        } else {
          const auto first = static_cast<std::int32_t>((words[2 * p] >> 8) + 1);
          radii[p] = static_cast<float>(first) * 0x1p-24f;
          angles[p] = kTwoPi * philox_unit(words[2 * p + 1]);
        }
      }
      apply(TileOp::log, radii, radii, pairs);
      apply(TileOp::cos, angles, cosines, pairs);
      apply(TileOp::sin, angles, sines, pairs);
      for (std::int64_t p = 0; p < pairs; ++p) radii[p] = std::sqrt(T(-2) * radii[p]);
      for (std::int64_t p = 0; p < pairs; ++p) {
        row[2 * p] = m + s * (radii[p] * cosines[p]);
        row[2 * p + 1] = m + s * (radii[p] * sines[p]);
      }
      store_row(output.dtype(), row, n, output.at(begin));
    });
  });
}

// philox_bernoulli() below kPhiloxRare.
void launch_rare_bernoulli(const Launch& launch, double p) {
  const std::uint64_t limit = philox_rare_limit(p);
  const auto high = static_cast<std::uint32_t>(limit >> 32);
  const auto low = static_cast<std::uint32_t>(limit);
  const std::uint64_t seed = dynamic_of(launch, 0), counter = dynamic_of(launch, 1);
  with_output(launch, [&]<class E>(E* out) {
    draw(launch, 1, [=](const std::uint32_t* words, std::int64_t begin, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        bool hit = words[i] < high;
        if (words[i] == high && low > 0) [[unlikely]] {
          hit = philox_second_word(seed, static_cast<std::uint64_t>(begin + i), counter) < low;
        }
        out[begin + i] = element<E>(hit ? 1 : 0);
      }
    });
  });
}

void launch_bernoulli(const Launch& launch) {
  const double p = dynamic_f64(dynamic_of(launch, 2));
  if (p < kPhiloxRare) return launch_rare_bernoulli(launch, p);
  // unit(word) < p compares integers: the top 24 bits against p * 2^24, rounded up.
  const double scaled = std::ceil(p * 0x1p24);
  const auto limit = static_cast<std::int32_t>(scaled > 0 ? std::min(scaled, 0x1p24) : 0);
  with_output(launch, [&]<class E>(E* out) {
    // Without a branch: it would be predicted wrongly for every other element.
    draw(launch, 1, [=](const std::uint32_t* words, std::int64_t begin, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        const auto hit =
            static_cast<std::int32_t>(static_cast<std::int32_t>(words[i] >> 8) < limit);
        if constexpr (kIsHalf<E>) {
          out[begin + i].bits = static_cast<std::uint16_t>(hit * element<E>(1).bits);
        } else {
          out[begin + i] = static_cast<E>(hit);
        }
      }
    });
  });
}

void launch_integers(const Launch& launch) {
  const std::int64_t lo = dynamic_i64(dynamic_of(launch, 2)),
                     hi = dynamic_i64(dynamic_of(launch, 3));
  with_output(launch, [&]<class E>(E* out) {
    draw(launch, 2, [=](const std::uint32_t* words, std::int64_t begin, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        out[begin + i] = element<E>(philox_integer(pair_at(words, i), lo, hi));
      }
    });
  });
}

void launch_arange(const Launch& launch) {
  const std::int64_t n = element_count(launch.signature->output.shape);
  const std::uint64_t start = dynamic_of(launch, 0), step = dynamic_of(launch, 1);
  const bool floats = is_float(launch.signature->output.dtype);
  const bool is_bool_output = is_bool(launch.signature->output.dtype);
  with_output(launch, [&]<class E>(E* out) {
    for_chunks(n, 1, [=](std::int64_t begin, std::int64_t end) {
      if (floats) {
        const double first = dynamic_f64(start), by = dynamic_f64(step);
        for (std::int64_t i = begin; i < end; ++i) {
          out[i] = element<E>(first + static_cast<double>(i) * by);
        }
      } else if constexpr (std::is_integral_v<E>) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::uint64_t value = start + static_cast<std::uint64_t>(i) * step;
          out[i] = is_bool_output ? static_cast<E>(value != 0) : static_cast<E>(value);
        }
      }
    });
  });
}

constexpr Implementation kImplementations[] = {
    {.name = "elements", .op = &defs::random_bits_op, .launch = launch_bits},
    {.name = "elements", .op = &defs::random_uniform_op, .launch = launch_uniform},
    {.name = "elements", .op = &defs::random_normal_op, .launch = launch_normal},
    {.name = "elements", .op = &defs::random_bernoulli_op, .launch = launch_bernoulli},
    {.name = "elements", .op = &defs::random_integers_op, .launch = launch_integers},
    {.name = "elements", .op = &defs::arange_op, .launch = launch_arange},
};

}  // namespace

Family random_family() { return kImplementations; }

}  // namespace hearth::cpu
