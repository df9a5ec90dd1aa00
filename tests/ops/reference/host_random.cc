#include "ops/reference/host_random.h"

#include <array>
#include <cmath>

namespace hearth::testing {
namespace {

using Words = std::array<std::uint32_t, 4>;
__extension__ using Wide = unsigned __int128;

// Philox4x32-10 as its paper has it: the counter's words, then the key's.
Words philox_words(Words counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = 0xd2511f53ull * counter[0];
    const std::uint64_t right = 0xcd9e8d57ull * counter[2];
    counter = {static_cast<std::uint32_t>(right >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(right & 0xffffffffu),
               static_cast<std::uint32_t>(left >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(left & 0xffffffffu)};
    key = {key[0] + 0x9e3779b9u, key[1] + 0xbb67ae85u};
  }
  return counter;
}

// The words of one draw.
class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t counter) : seed_(seed), counter_(counter) {}

  std::uint64_t word(std::uint64_t i, bool second = false) const {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const std::uint64_t block = i / 4;
    return philox_words({low(block), low(block >> 32) | (second ? 1u << 31 : 0u), low(counter_),
                         low(counter_ >> 32)},
                        {low(seed_), low(seed_ >> 32)})[i % 4];
  }
  std::uint64_t pair(std::uint64_t i) const { return word(2 * i) + (word(2 * i + 1) << 32); }

 private:
  std::uint64_t seed_, counter_;
};

double fraction(std::uint64_t bits, int count) {
  return std::ldexp(static_cast<double>(bits), -count);
}

double uniform(const Stream& stream, std::uint64_t i, DType dtype, double low, double high) {
  if (dtype == DType::f64) {
    const double value = low + fraction(stream.pair(i) >> 11, 53) * (high - low);
    return value < high ? value : std::nextafter(high, low);
  }
  const auto from = static_cast<float>(low), to = static_cast<float>(high);
  const float part = static_cast<float>(fraction(stream.word(i) >> 8, 24)) * (to - from);
  const float value = from + part;
  return static_cast<double>(value < to ? value : std::nextafter(to, from));
}

double normal(const Stream& stream, std::uint64_t i, DType dtype, double mean, double deviation) {
  const std::uint64_t first = i / 2 * 2;
  const bool is_wide = dtype == DType::f64;
  const double u = is_wide ? fraction((stream.pair(first) >> 11) + 1, 53)
                           : fraction((stream.word(first) >> 8) + 1, 24);
  const double turn = is_wide ? fraction(stream.pair(first + 1) >> 11, 53)
                              : fraction(stream.word(first + 1) >> 8, 24);
  const double angle = 2 * 3.14159265358979323846 * turn;
  const double radius = std::sqrt(-2 * std::log(u));
  return mean + deviation * radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

bool bernoulli(const Stream& stream, std::uint64_t i, double probability) {
  if (probability >= std::ldexp(1.0, -12)) {
    return fraction(stream.word(i) >> 8, 24) < probability;
  }
  const std::uint64_t bits = (stream.word(i) << 32) + stream.word(i, true);
  return static_cast<long double>(bits) < std::ldexp(static_cast<long double>(probability), 64);
}

double integer(const Stream& stream, std::uint64_t i, std::int64_t low, std::int64_t high) {
  const auto range = static_cast<Wide>(high - low);
  return static_cast<double>(low + static_cast<std::int64_t>(stream.pair(i) * range >> 64));
}

}  // namespace

std::optional<HostArray> host_random(std::string_view op, const Params& params) {
  if (!op.starts_with("random_")) return std::nullopt;
  ParamReader statics(params.statics().span());
  HostArray out{statics.list(), {}};
  const DType dtype = statics.dtype();
  const auto& words = params.dynamics();
  const Stream stream(words[0], words[1]);
  const auto real = [&](int i) { return dynamic_f64(words[i]); };
  const auto count = static_cast<std::uint64_t>(element_count(out.shape));
  for (std::uint64_t i = 0; i < count; ++i) {
    if (op == "random_bits") {
      out.values.push_back(
          static_cast<double>(dtype == DType::u64 ? stream.pair(i) : stream.word(i)));
    } else if (op == "random_uniform") {
      out.values.push_back(uniform(stream, i, dtype, real(2), real(3)));
    } else if (op == "random_normal") {
      out.values.push_back(normal(stream, i, dtype, real(2), real(3)));
    } else if (op == "random_bernoulli") {
      out.values.push_back(bernoulli(stream, i, real(2)) ? 1 : 0);
    } else if (op == "random_integers") {
      out.values.push_back(integer(stream, i, dynamic_i64(words[2]), dynamic_i64(words[3])));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace hearth::testing
