// Products of rows of activations with weights that stay in packed blocks, in integers.
//
// A row of activations is coded: i8 codes q in -127..127, with a scale for each 32. A weight's
// elements are step * (code - zero) - least, with a step and a least value for each group of 16 or
// 32 elements (packed_group()). A result is, over the groups of its row,
//   sum of  step * scale * (sum of code * q - zero * sum of q)  -  least * (scale * sum of q)
//
// The order is the same in every kernel, on every processor and for any number of rows, so that the
// bits of a result depend on its row and its weights alone:
// - the sums in parentheses are exact in i32; (scale * sum of q) is rounded to f32 once;
// - group g belongs to class g % 16. Each class has a sum in f32 from 0, to which its groups are
//   added in order, sum = fma(float(integer), step * scale, sum), then, where the format has least
//   values, sum = fma(-least, scale * sum of q, sum);
// - the 16 sums s are added in halves: s[i] + s[i + 8], of those t[i] + t[i + 4], and so on.
// One row keeps 16 groups of a weight in the lanes of a vector. Many rows keep 16 weights there and
// go through the groups class by class, which also keeps what they read of both in the first cache.
//
// A scale, step or least value that is not finite makes results that are not finite.
#pragma once

#include <bit>
#include <cstdint>

#include "core/packed/formats.h"
#include "hearth/dtype.h"

namespace hearth::cpu {

inline constexpr int kPackedClasses = 16;
inline constexpr int kPanelWeights = 16;    // weights of a panel
inline constexpr int kMostLines = 4;        // rows at once without a panel
inline constexpr int kMostBundleRows = 12;  // rows at once with one

// Elements that have a step of their own; 0 of what is no format.
constexpr int packed_group(DType format) {
  switch (format) {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  case DType::dtype:                                                         \
    return on_host::packed_formats::name::step_elements;
#include "core/packed/block_formats.def"
    default:
      return 0;
  }
}

// The groups of a row in their classes.
struct PackedGroups {
  std::int64_t count;

  std::int64_t stretches() const { return (count + kPackedClasses - 1) / kPackedClasses; }
  // Where class c begins if classes follow each other; that of 16 is their number.
  std::int64_t begin(int c) const {
    const std::int64_t rest = count % kPackedClasses;
    return c * (count / kPackedClasses) + (c < rest ? c : rest);
  }
};

// ---- Coded rows

// What coding needs to know of a format.
struct PackedTraits {
  int group;
  int zero;
};

// A line is a coded row in `stretches` of 16 groups, zero behind the last group: all codes, then
// for all groups the scales, the shifts (-zero * sum of q) in i32, and the sums (scale * sum of q).
// Codes are in order where groups have 16. Where they have 32, those of four groups lie in the
// order of their first halves, then of their last halves: so that a vector's quarters are of one
// group each.
struct LineShape {
  int group;
  std::int64_t stretches;

  // Where the code of element e is. Those of 16 elements lie in order.
  std::int64_t code_at(std::int64_t e) const {
    if (group == 16) return e;
    return e / 128 * 128 + e / 16 % 2 * 64 + e / 32 % 4 * 16 + e % 16;
  }
  std::int64_t padded() const { return stretches * kPackedClasses; }  // groups
  std::int64_t scales_at() const { return padded() * group; }
  std::int64_t shifts_at() const { return scales_at() + 4 * padded(); }
  std::int64_t sums_at() const { return shifts_at() + 4 * padded(); }
  std::int64_t bytes() const { return sums_at() + 4 * padded(); }  // a multiple of 64
};

// A bundle is the lines of 8 or 12 rows, woven together. Of each group, class by class, it has
// 4 codes of each row, the next 4 of each row and so on, then the scales, the shifts and the sums.
constexpr std::int64_t bundle_words(std::int64_t rows, int group) { return rows * (group / 4 + 3); }

// ---- Kernels

struct LineProduct {
  const std::uint8_t* weights;
  std::int64_t weight_stride;  // bytes
  std::int64_t weight_count;
  std::int64_t groups;
  const std::byte* lines[kMostLines];
  float* out[kMostLines];  // of each row weight_count results
};

// A panel is 16 weights, unpacked. Of each group, class by class, it has 4 codes of each weight,
// the next 4 of each and so on, then the steps, then the least values if the format has them.
constexpr std::int64_t panel_words(int group, bool has_least) {
  return kPanelWeights * (group / 4 + 1 + (has_least ? 1 : 0));
}

struct PanelSource {
  const std::uint8_t* weights;
  std::int64_t weight_stride;  // bytes
  std::int64_t weight_count;   // 1 to 16; the last one stands for those that are not there
  std::int64_t groups;
};

// Classes in the order in which the halves of their sums meet early: after class_at(n) as many sums
// are ready to be added up as n ends in ones.
constexpr int class_at(int n) { return (n & 1) << 3 | (n & 2) << 1 | (n & 4) >> 1 | (n & 8) >> 3; }
inline constexpr int kSumLevels = 5;

// The groups of one class of a panel and of a bundle. The tiles [rows of the bundle, 16] of `sums`,
// aligned to 64 bytes, are of one class, of two, of four, eight and all: tiles 0 to merged - 1 are
// added to the class, in order, and the sum becomes tile `merged`. Called for all classes in the
// order of class_at(), with merged_at(), this leaves the results in the last tile.
struct ClassProduct {
  const std::uint32_t* panel;
  const std::uint32_t* bundle;
  std::int64_t groups;
  float* sums;
  int merged;
};
constexpr int merged_at(int n) { return std::countr_one(static_cast<unsigned>(n)); }
constexpr std::int64_t tile_size(std::int64_t rows) { return rows * kPanelWeights; }

// The kernels of a format.
struct PackedProducts {
  DType format;
  PackedTraits traits;
  bool has_least;
  // For 1, 2 and 4 rows. Weights are read once, in the order of memory.
  void (*multiply_lines[3])(const LineProduct&);
  // Null where there are no panels: lines serve any number of rows.
  void (*pack)(const PanelSource&, std::uint32_t* panel);
  // For bundles of 8 and 12 rows.
  void (*multiply_class[2])(const ClassProduct&);
};

// The kernels of a kind of processors, in the order of the packed dtypes, and how rows are coded.
struct PackedMachine {
  const char* name;
  PackedProducts products[kPackedDTypeCount];
  // Codes `groups` groups of any floats, which are whole 32. Of 32 of which one is not finite the
  // scale is NaN and the codes are 0; 32 that are all below 2^-120 in magnitude are coded as 0.
  void (*code)(const float* x, std::int64_t groups, const PackedTraits& traits, std::byte* line);
};

// Null where the processor or the compiler has not got what it takes.
const PackedMachine* packed_plain();
const PackedMachine* packed_avx2();
const PackedMachine* packed_vnni();  // AVX-512 with VNNI
const PackedMachine* packed_neon();  // ARM's dot products

// The best of them.
const PackedMachine& packed_machine();

inline const PackedProducts& packed_products(const PackedMachine& machine, DType format) {
  return machine.products[static_cast<int>(format) - kDTypeCount];
}

// Weaves `count` lines, at most `rows`, which is 8 or 12; the rest is zero.
void weave_bundle(const std::byte* lines, const LineShape& shape, std::int64_t groups,
                  std::int64_t count, int rows, std::uint32_t* bundle);

}  // namespace hearth::cpu
