// Products for ARM processors whose NEON has dot products of signed bytes.
#include "devices/cpu/packed/products.h"

#if defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include <bit>
#include <cstring>

#include "core/packed/formats.h"
#include "devices/cpu/unroll.h"

namespace hearth::cpu {
namespace {

#include "devices/cpu/packed/lanes_neon-inl.h"
#include "devices/cpu/packed/products-inl.h"

// Half of a panel times 4 rows of a bundle: codes of a weight are the bytes of a lane, those of a
// row come from a lane of what the 4 rows have, and all sums stay in registers.
template <int kGroup, bool kHasLeast, bool kIsSigned, int kRows>
HEARTH_LANES_TARGET void multiply_class(const ClassProduct& p) {
  constexpr int kQuads = kGroup / 4, kWide = 4, kVectors = 2;
  for (int part = 0; part < 2 * kRows / kWide; ++part) {
    const int first_row = part / 2 * kWide, first_weight = part % 2 * 4 * kVectors;
    const std::uint32_t *panel = p.panel + first_weight, *bundle = p.bundle + first_row;
    float32x4_t sums[kWide][kVectors];
    HEARTH_UNROLL
    for (auto& row : sums) row[0] = row[1] = vdupq_n_f32(0.0f);
    for (std::int64_t left = p.groups; left > 0; --left) {
      const std::uint32_t* const ends = bundle + kQuads * kRows;
      int32x4_t integers[kWide][kVectors];
      HEARTH_UNROLL
      for (int row = 0; row < kWide; ++row) {
        const int32x4_t shift =
            vdupq_n_s32(kIsSigned ? 0 : static_cast<std::int32_t>(ends[kRows + row]));
        integers[row][0] = integers[row][1] = shift;
      }
      HEARTH_UNROLL
      for (int quad = 0; quad < kQuads; ++quad) {
        const int8x16_t rows = vreinterpretq_s8_u32(vld1q_u32(bundle + quad * kRows));
        HEARTH_UNROLL
        for (int i = 0; i < kVectors; ++i) {
          const int8x16_t codes = vreinterpretq_s8_u32(vld1q_u32(panel + 16 * quad + 4 * i));
          integers[0][i] = vdotq_laneq_s32(integers[0][i], codes, rows, 0);
          integers[1][i] = vdotq_laneq_s32(integers[1][i], codes, rows, 1);
          integers[2][i] = vdotq_laneq_s32(integers[2][i], codes, rows, 2);
          integers[3][i] = vdotq_laneq_s32(integers[3][i], codes, rows, 3);
        }
      }
      const auto* const scales = reinterpret_cast<const float*>(ends);
      const auto* const steps = reinterpret_cast<const float*>(panel + 16 * kQuads);
      HEARTH_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        const float32x4_t step = vld1q_f32(steps + 4 * i);
        HEARTH_UNROLL
        for (int row = 0; row < kWide; ++row) {
          const float32x4_t factor = vmulq_n_f32(step, scales[row]);
          sums[row][i] = vfmaq_f32(sums[row][i], vcvtq_f32_s32(integers[row][i]), factor);
        }
        if constexpr (kHasLeast) {
          const float32x4_t least = vld1q_f32(steps + 16 + 4 * i);
          HEARTH_UNROLL
          for (int row = 0; row < kWide; ++row) {
            sums[row][i] = vfmsq_n_f32(sums[row][i], least, scales[2 * kRows + row]);
          }
        }
      }
      panel += panel_words(kGroup, kHasLeast);
      bundle += bundle_words(kRows, kGroup);
    }
    float* tile = p.sums + first_row * kPanelWeights + first_weight;
    for (int i = 0; i <= p.merged; ++i, tile += tile_size(kRows)) {
      for (int row = 0; row < kWide; ++row) {
        for (int v = 0; v < kVectors; ++v) {
          float* const at = tile + row * kPanelWeights + 4 * v;
          if (i < p.merged) sums[row][v] = vaddq_f32(vld1q_f32(at), sums[row][v]);
          if (i == p.merged) vst1q_f32(at, sums[row][v]);
        }
      }
    }
  }
}

template <DType kFormat, class F>
constexpr PackedProducts products() {
  constexpr int kGroup = packed_group(kFormat);
  constexpr bool kHasLeast = F::has_least != 0, kIsSigned = Layout<F>::kMost > 127;
  return products_of<kFormat, F>(multiply_class<kGroup, kHasLeast, kIsSigned, 8>,
                                 multiply_class<kGroup, kHasLeast, kIsSigned, 12>);
}

bool has_dot_products() {
#if defined(__APPLE__)
  return true;  // all of Apple's chips that run macOS
#elif defined(__linux__) && defined(HWCAP_ASIMDDP)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return false;
#endif
}

}  // namespace

const PackedMachine* packed_neon() {
  static const PackedMachine machine = {"neon",
                                        {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  products<DType::dtype, name>(),
#include "core/packed/block_formats.def"
                                        },
                                        packed_plain()->code};
  static const bool is_there = has_dot_products();
  return is_there ? &machine : nullptr;
}

}  // namespace hearth::cpu

#else

namespace hearth::cpu {

const PackedMachine* packed_neon() { return nullptr; }

}  // namespace hearth::cpu

#endif
