// Random numbers: Philox4x32-10 keyed by a seed, counted by op.
//
// What an op draws is fixed when it is recorded: it depends on the generator's seed and counter at
// that moment and on the element's index, never on the device, the plan or other threads.
#pragma once

#include <cstdint>

#include "hearth/array.h"
#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

// The whole state of a stream of random ops; copying it saves the state, assigning restores it.
// One op takes one counter value. Not for use by two threads at once.
struct Generator {
  std::uint64_t seed = 0;
  std::uint64_t counter = 0;

  friend bool operator==(const Generator& a, const Generator& b) = default;
};

// The generator that random ops use when none is given: one for each thread, split from the
// process seed. Assign to it to restore a saved state.
HEARTH_API Generator& generator();

// Sets the process seed. The calling thread's generator becomes {value, 0}; each other thread's is
// split from `value` anew at its next use.
HEARTH_API void seed(std::uint64_t value);

// ---- Random arrays
// Drawn from `source`, or from the thread's generator where it is null. Float dtypes only, unless
// said.

// Uniform in [low, high). Error{invalid_argument} unless low <= high and `dtype` holds both and,
// but for f16, their distance.
HEARTH_API Array random_uniform(const Shape& shape, double low = 0, double high = 1,
                                DType dtype = DType::f32, Device device = Device(),
                                Generator* source = nullptr);
// Of the normal distribution with that mean and standard deviation.
HEARTH_API Array random_normal(const Shape& shape, double mean = 0, double deviation = 1,
                               DType dtype = DType::f32, Device device = Device(),
                               Generator* source = nullptr);
// 1 (true) with `probability`, else 0, in any dtype; exact to 2^-24, below 2^-12 to 2^-64.
HEARTH_API Array random_bernoulli(const Shape& shape, double probability,
                                  DType dtype = DType::bool_, Device device = Device(),
                                  Generator* source = nullptr);
// Uniform integers in [low, high), in any integer dtype. Error{invalid_argument} if low >= high.
HEARTH_API Array random_integers(const Shape& shape, std::int64_t low, std::int64_t high,
                                 DType dtype = DType::i64, Device device = Device(),
                                 Generator* source = nullptr);
// The generator's raw words; dtype u32 or u64.
HEARTH_API Array random_bits(const Shape& shape, DType dtype = DType::u32, Device device = Device(),
                             Generator* source = nullptr);
// The integers from 0 to count - 1, each once, in any order equally likely; [count], dtype i64 or
// i32. Recording it takes time and memory of the host in proportion to count: it is drawn there and
// copied to the device. Error{invalid_argument} if count < 0, Error{dtype} for other dtypes and
// where `dtype` does not hold count - 1.
HEARTH_API Array random_permutation(std::int64_t count, DType dtype = DType::i64,
                                    Device device = Device(), Generator* source = nullptr);

// Zeroes elements with `probability` and scales the others by 1 / (1 - probability); `x` itself
// when not training or when probability is 0. Zeroed NaN and infinities are 0 too, where PyTorch
// multiplies by 0 and makes them NaN. Error{invalid_argument} unless 0 <= probability <= 1.
HEARTH_API Array dropout(const Array& x, double probability, bool training = true,
                         Generator* source = nullptr);

}  // namespace v0
}  // namespace hearth
