// Draws that are bit-equal on every device, in cases that a table of samples does not reach.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/philox.h"
#include "hearth/device.h"
#include "hearth/random.h"

namespace hearth {
namespace {

// Elements whose word is the upper half of the probability are decided by a second word. All but 24
// bits were ignored, and the rarest draws as likely as 2^-24.
TEST(RandomRun, RareDrawsCompareTwoWords) {
  constexpr std::int64_t kCount = std::int64_t{1} << 17;
  const Generator source{0x0123456789abcdefu, 0x42};
  std::vector<std::uint64_t> drawn;  // as 64-bit fractions
  std::vector<std::size_t> small;    // those below 2^-12
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::uint32_t first = philox(source.seed, i / 4, source.counter)[i % 4];
    const std::uint32_t second =
        philox(source.seed, i / 4 + (std::uint64_t{1} << 63), source.counter)[i % 4];
    drawn.push_back(std::uint64_t{first} << 32 | second);
    if (first < 1u << 20) small.push_back(i);
  }
  ASSERT_GT(small.size(), 10u);
  for (const Device& device : {Device::cpu(), Device::named("hostile"), Device::named("sim")}) {
    for (const DType dtype : {DType::bool_, DType::bf16, DType::i64}) {
      for (const std::uint64_t limit :
           {drawn[small[0]], drawn[small[0]] + 1, drawn[small[4]], drawn[small[4]] + 1,
            std::uint64_t{1} << 52, std::uint64_t{3}, std::uint64_t{0}}) {
        Generator from = source;
        const double probability = std::ldexp(static_cast<double>(limit), -64);
        const std::vector<double> got =
            random_bernoulli({kCount}, probability, dtype, device, &from).to_doubles();
        for (std::size_t i = 0; i < got.size(); ++i) {
          const bool hit =
              limit == std::uint64_t{1} << 52 ? drawn[i] >> 40 < 1u << 12 : drawn[i] < limit;
          ASSERT_EQ(got[i], hit ? 1 : 0) << device.name() << " " << probability << " element " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
