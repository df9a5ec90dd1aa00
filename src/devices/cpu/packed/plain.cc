// Products in plain C++, for any format and processor: the text that the others agree with.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/packed/formats.h"
#include "devices/cpu/packed/products.h"

namespace hearth::cpu {
namespace {

// A stretch of a weight: its codes less zero, which all are signed bytes.
template <int kGroup>
struct Stretch {
  std::int8_t codes[kPackedClasses * kGroup];
  float steps[kPackedClasses];
  float leasts[kPackedClasses];
};

template <class F, int kGroup>
void unpack(const std::uint8_t* block, int groups, Stretch<kGroup>& stretch) {
  constexpr std::uint32_t kSixteens = kGroup / 16, kOfBlock = F::elements / 16;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(groups) * kSixteens; ++i) {
    const std::uint8_t* const at = block + i / kOfBlock * F::bytes;
    const std::uint32_t g = i % kOfBlock;
    std::uint32_t fours[4];
    for (std::uint32_t q = 0; q < 4; ++q) fours[q] = F::four(at, g, q);
    for (std::uint32_t e = 0; e < 16; ++e) {
      const auto code = static_cast<int>((fours[e / 4] >> (8 * (e % 4))) & 255u);
      stretch.codes[16 * i + e] = static_cast<std::int8_t>(code - F::zero);
    }
    if (i % kSixteens == 0) {
      stretch.steps[i / kSixteens] = F::step(at, g);
      stretch.leasts[i / kSixteens] = F::least(at, g);
    }
  }
}

template <class T>
const T* part(const std::byte* line, std::int64_t at) {
  return reinterpret_cast<const T*>(line + at);
}

template <class F, int kGroup, int kRows>
void multiply_lines(const LineProduct& p) {
  constexpr std::int64_t kBytes = kPackedClasses * kGroup / F::elements * F::bytes;
  static_assert(kPackedClasses * kGroup % F::elements == 0);
  const PackedGroups groups{p.groups};
  const LineShape shape{kGroup, groups.stretches()};
  Stretch<kGroup> stretch;
  for (std::int64_t weight = 0; weight < p.weight_count; ++weight) {
    const std::uint8_t* block = p.weights + weight * p.weight_stride;
    float classes[kRows][kPackedClasses] = {};
    for (std::int64_t first = 0; first < p.groups; first += kPackedClasses, block += kBytes) {
      const std::int64_t left = p.groups - first;
      const int count = left < kPackedClasses ? static_cast<int>(left) : kPackedClasses;
      unpack<F>(block, count, stretch);
      for (int row = 0; row < kRows; ++row) {
        const std::byte* const line = p.lines[row];
        const auto* scales = part<float>(line, shape.scales_at()) + first;
        const auto* sums = part<float>(line, shape.sums_at()) + first;
        for (int c = 0; c < count; ++c) {
          std::int32_t sum = 0;
          for (int half = 0; half < kGroup; half += 16) {
            const std::int8_t* const x = stretch.codes + c * kGroup + half;
            const auto* q = part<std::int8_t>(line, shape.code_at((first + c) * kGroup + half));
            for (int i = 0; i < 16; ++i) sum += x[i] * q[i];
          }
          float& total = classes[row][c];
          total = std::fma(static_cast<float>(sum), stretch.steps[c] * scales[c], total);
          if (F::has_least != 0) total = std::fma(-stretch.leasts[c], sums[c], total);
        }
      }
    }
    for (int row = 0; row < kRows; ++row) {
      for (int half = kPackedClasses / 2; half > 0; half /= 2) {
        for (int c = 0; c < half; ++c) classes[row][c] += classes[row][c + half];
      }
      p.out[row][weight] = classes[row][0];
    }
  }
}

void code_line(const float* x, std::int64_t groups, const PackedTraits& traits, std::byte* line) {
  if (groups == 0) return;  // there is no memory
  const LineShape shape{traits.group, PackedGroups{groups}.stretches()};
  std::memset(line, 0, static_cast<std::size_t>(shape.bytes()));
  auto* codes = reinterpret_cast<std::int8_t*>(line);
  auto* scales = reinterpret_cast<float*>(line + shape.scales_at());
  auto* shifts = reinterpret_cast<std::int32_t*>(line + shape.shifts_at());
  auto* sums = reinterpret_cast<float*>(line + shape.sums_at());
  const std::int64_t count = groups * traits.group;
  for (std::int64_t first = 0; first < count; first += 32) {
    // Bits of magnitudes are in the order of magnitudes, with those that are not finite above.
    std::uint32_t most = 0;
    for (int i = 0; i < 32; ++i) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[first + i]) & 0x7fffffffu;
      most = bits > most ? bits : most;
    }
    const float largest = std::bit_cast<float>(most);
    const bool is_finite = most < 0x7f800000u, is_zero = largest < 0x1p-120f;
    const float inverse = is_finite && !is_zero ? 127.0f / largest : 0.0f;
    const float scale = !is_finite ? std::numeric_limits<float>::quiet_NaN()
                        : is_zero  ? 0.0f
                                   : largest / 127.0f;
    constexpr float kOnes = 0x1.8p23f;  // floats from here on are integers
    std::int8_t rounded[32];
    for (int i = 0; i < 32; ++i) {
      const float product = is_finite ? x[first + i] * inverse : 0.0f;
      rounded[i] = static_cast<std::int8_t>((product + kOnes) - kOnes);
    }
    for (int i = 0; i < 32; i += 16) {
      std::memcpy(codes + shape.code_at(first + i), rounded + i, 16);
    }
    for (int i = 0; i < 32; i += traits.group) {
      std::int32_t sum = 0;
      for (int k = 0; k < traits.group; ++k) sum += rounded[i + k];
      const std::int64_t g = (first + i) / traits.group;
      scales[g] = scale;
      shifts[g] = -traits.zero * sum;
      sums[g] = scale * static_cast<float>(sum);
    }
  }
}

template <DType kFormat, class F>
constexpr PackedProducts products() {
  constexpr int kGroup = packed_group(kFormat);
  return {
      kFormat,
      {kGroup, F::zero},
      F::has_least != 0,
      {multiply_lines<F, kGroup, 1>, multiply_lines<F, kGroup, 2>, multiply_lines<F, kGroup, 4>},
      nullptr,
      {}};
}

constexpr PackedMachine kMachine = {"plain",
                                    {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  products<DType::dtype, on_host::packed_formats::name>(),
#include "core/packed/block_formats.def"
                                    },
                                    code_line};

}  // namespace

const PackedMachine* packed_plain() { return &kMachine; }

}  // namespace hearth::cpu
