// Runs a region on the simulator and on the CPU, over the same random operands, and compares.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "devices/region_fixture.h"
#include "devices/scalar_reference.h"
#include "kernels/regions/region_kernel.h"
#include "machines/sim/sim_driver.h"
#include "runtime/commands/command_batch.h"
#include "runtime/commands/encoder.h"

namespace hearth::gpu_test {

using region_test::Guarded;

inline constexpr DType kDTypes[] = {DType::f64, DType::f32, DType::f16,  DType::bf16, DType::i64,
                                    DType::i32, DType::i16, DType::i8,   DType::u64,  DType::u32,
                                    DType::u16, DType::u8,  DType::bool_};

// What random elements are like.
enum class Values : std::uint8_t {
  any,     // of all magnitudes, with NaN, infinities and extremes
  mild,    // floats of both signs below 8; integers as in `any`
  counts,  // integers from -8 to 8: sums of a few thousand are exact in every float class
  powers,  // 1 and -1, and a few 2 and 1/2: products are exact
};

// Memory of an operand of the shape, with an address for its first element.
struct Operand {
  Guarded memory;
  std::int64_t bytes;
  std::int64_t first;  // bytes from the beginning to element 0
  std::byte* at() { return memory.data() + first; }
};

class RegionRunner {
 public:
  explicit RegionRunner(bool check = false)
      : driver_(options(check)), registry_(driver_, runtime::KernelCache("")), random_(20) {}

  std::mt19937& random() { return random_; }
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  sim::SimDriver& driver() { return driver_; }
  runtime::KernelRegistry& registry() { return registry_; }

  region_test::Scalar element(DType dtype, Values values);
  // Memory for elements at `strides` over `shape`, and `shift` elements in front of them.
  Operand operand(const Shape& shape, const Strides& strides, DType dtype, Values values,
                  std::int64_t shift = 0);

  // Random inputs; scalars are drawn likewise. `shifts` are elements in front of each input.
  // `taken[o]` is an input whose memory output o takes, or -1.
  struct Options {
    Values values = Values::any;
    std::vector<std::int64_t> shifts;
    std::vector<int> taken;
    // Of results of ops whose last bits are the platform's own; other results have equal bits.
    int ulps = 0;
  };
  void check(const Region& region, const Options& options);
  void check(const Region& region) { check(region, Options()); }

  // Launches on device addresses: the inputs, the outputs, the reduction's result.
  void launch(const Region& region, const std::vector<Address>& operands,
              const std::vector<std::uint64_t>& dynamics);

 private:
  static sim::SimOptions options(bool check) {
    sim::SimOptions options;
    options.check = check;
    options.schedule.order = sim::Order::greedy;
    return options;
  }

  sim::SimDriver driver_;
  runtime::KernelRegistry registry_;
  std::mt19937 random_;
};

// Equal bits, or both NaN, or within `ulps`.
bool same_element(const std::byte* a, const std::byte* b, DType dtype, int ulps);

std::string describe(const Region& region);

}  // namespace hearth::gpu_test
